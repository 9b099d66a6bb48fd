"""Small vaults as other programs write them, with what an import makes of each of their notes."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fakes.image_files import samples

PNG, JPEG = samples()["png"].data, samples()["jpeg"].data


@dataclass(frozen=True)
class Vault:
    """The files of a vault, and the notes, images and counts that an import gets from them."""

    files: dict[str, bytes]
    notes: dict[str, str]
    images: set[str]
    left_out: dict[str, int]


OBSIDIAN = Vault(
    files={
        "Vault/.obsidian/app.json": b"{}",
        "Vault/.obsidian/workspace.json": b"{}",
        "Vault/.obsidian/plugins/dataview/main.js": b"//",
        "Vault/.trash/Old idea.md": b"deleted",
        "Vault/Home.md": (
            b'---\naliases: [Start]\nup: "[[Projects]]"\n---\n# Home\n\n'
            b"- [[Projects]] and [[Projects|my projects]]\n- [[Garden plan#To do|to do]]\n"
            b"- [[Garden plan#^beds]]\n- [[Not yet written]]\n\n![[Screenshot 1.png|300]]\n\n"
            b"> [!note]\n> See [[2026-01-01]].\n\n#tag ==mark== %%comment%%\n"
        ),
        "Vault/Projects.md": (
            b"| Project | Note |\n|---|---|\n| Garden | [[Garden plan\\|Plan]] |\n\n"
            b"```dataview\nLIST FROM [[Home]]\n```\n"
        ),
        "Vault/Projects/Garden plan.md": (
            b"# Garden plan\r\n\r\n## To do\r\n\r\nBeds ^beds\r\n\r\n![[Home]]\r\n"
            b"![[plan.jpg]] ![Plan](../attachments/plan.jpg)\r\n"
        ),
        "Vault/Daily/2026-01-01.md": b"[[Home]] `[[Home]]` [site](https://example.org)\n",
        "Vault/Board.canvas": b"{}",
        "Vault/paper.pdf": b"%PDF",
        "Vault/attachments/plan.jpg": JPEG,
        "Vault/Screenshot 1.png": PNG,
        "Vault/.DS_Store": b"\0",
        "__MACOSX/Vault/._Home.md": b"\0\5\x16\7",
    },
    notes={
        "Vault/Home.md": (
            '---\naliases: [Start]\nup: "[[Projects]]"\n---\n# Home\n\n'
            "- [Projects](Projects.md) and [my projects](Projects.md)\n"
            "- [to do](Projects/Garden%20plan.md#to-do)\n"
            "- [Garden plan > ^beds](Projects/Garden%20plan.md#^beds)\n- [[Not yet written]]\n\n"
            "![Screenshot 1.png|300](../attachments/Vault/Screenshot%201.png)\n\n"
            "> [!note]\n> See [2026-01-01](Daily/2026-01-01.md).\n\n#tag ==mark== %%comment%%\n"
        ),
        "Vault/Projects.md": (
            "| Project | Note |\n|---|---|\n| Garden | [Plan](Projects/Garden%20plan.md) |\n\n"
            "```dataview\nLIST FROM [[Home]]\n```\n"
        ),
        "Vault/Projects/Garden plan.md": (
            "# Garden plan\r\n\r\n## To do\r\n\r\nBeds ^beds\r\n\r\n[Home](../Home.md)\r\n"
            "![plan.jpg](../../attachments/Vault/attachments/plan.jpg)"
            " ![Plan](../../attachments/Vault/attachments/plan.jpg)\r\n"
        ),
        "Vault/Daily/2026-01-01.md": "[Home](../Home.md) `[[Home]]` [site](https://example.org)\n",
    },
    images={"attachments/Vault/attachments/plan.jpg", "attachments/Vault/Screenshot 1.png"},
    left_out={"settings": 6, "history": 0, "other": 2},
)

LOGSEQ = Vault(
    files={
        "logseq/config.edn": b"{:preferred-format :markdown}",
        "logseq/custom.css": b"",
        "logseq/bak/pages/Reading/2026-01-01T10_00_00.000Z.Desktop.md": b"- old\n",
        "logseq/.recycle/pages_gone.md": b"- gone\n",
        "journals/2026_01_01.md": (
            b"- TODO read [[Reading]] #[[Deep work]]\n\t- [[Reading]]: [[Deep work]]\n"
            b"  id:: 65a0\n- ![image.png](../assets/image_1700000000000_0.png){:height 100}\n"
            b"- {{embed [[Reading]]}} ((65a0))\n"
        ),
        "pages/Reading.md": b"title:: Reading\n\n- [[Jan 1st, 2026]]\n",
        "pages/Deep work.md": b"- ![cover](../assets/cover.jpg)\n",
        "pages/a___b.md": b"- namespaced\n",
        "assets/image_1700000000000_0.png": PNG,
        "assets/cover.jpg": JPEG,
        "assets/storages/plugin.edn": b"{}",
        "draws/2026.excalidraw": b"{}",
    },
    notes={
        "journals/2026_01_01.md": (
            "- TODO read [Reading](../pages/Reading.md) #[Deep work](../pages/Deep%20work.md)\n"
            "\t- [Reading](../pages/Reading.md): [Deep work](../pages/Deep%20work.md)\n"
            "  id:: 65a0\n"
            "- ![image.png](../attachments/assets/image_1700000000000_0.png){:height 100}\n"
            "- {{embed [Reading](../pages/Reading.md)}} ((65a0))\n"
        ),
        "pages/Reading.md": "title:: Reading\n\n- [[Jan 1st, 2026]]\n",
        "pages/Deep work.md": "- ![cover](../attachments/assets/cover.jpg)\n",
        "pages/a___b.md": "- namespaced\n",
    },
    images={"attachments/assets/image_1700000000000_0.png", "attachments/assets/cover.jpg"},
    left_out={"settings": 4, "history": 0, "other": 2},
)

JOPLIN = Vault(
    files={
        "Inbox/Shopping list.md": (
            b"---\ntitle: Shopping list\nupdated: 2026-01-01 10:00:00Z\ncreated: 2026-01-01"
            b" 09:00:00Z\nlatitude: 0.00000000\n---\n\n- [ ] milk\n\n"
            b"![receipt.png](../_resources/receipt.png)\n"
            b'<img src="../_resources/receipt.png" width="30">\n'
        ),
        "Inbox/Travel/Lisbon.md": (
            b"---\ntitle: Lisbon\n---\n\n![tram](../../_resources/tram%2028.jpg)\n"
            b"[list](../Shopping%20list.md) [pdf](../../_resources/ticket.pdf)\n"
        ),
        "_resources/receipt.png": PNG,
        "_resources/tram 28.jpg": JPEG,
        "_resources/ticket.pdf": b"%PDF",
    },
    notes={
        "Inbox/Shopping list.md": (
            "---\ntitle: Shopping list\nupdated: 2026-01-01 10:00:00Z\ncreated: 2026-01-01"
            " 09:00:00Z\nlatitude: 0.00000000\n---\n\n- [ ] milk\n\n"
            "![receipt.png](../attachments/_resources/receipt.png)\n"
            '<img src="../_resources/receipt.png" width="30">\n'
        ),
        "Inbox/Travel/Lisbon.md": (
            "---\ntitle: Lisbon\n---\n\n![tram](../../attachments/_resources/tram%2028.jpg)\n"
            "[list](../Shopping%20list.md) [pdf](../../_resources/ticket.pdf)\n"
        ),
    },
    images={"attachments/_resources/receipt.png", "attachments/_resources/tram 28.jpg"},
    left_out={"settings": 0, "history": 0, "other": 1},
)

VAULTS = {"obsidian": OBSIDIAN, "logseq": LOGSEQ, "joplin": JOPLIN}
