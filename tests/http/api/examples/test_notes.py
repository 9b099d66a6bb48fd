"""The examples in the API document: complete, valid and consistent with each other."""

import json
import subprocess
import sys
from base64 import b64decode
from functools import cache

import pytest
from pycrdt import Doc, Text
from pydantic import TypeAdapter

from octavo.http.api.examples import EXAMPLES
from octavo.http.api.registry import CONTRACT, contract_document
from octavo.http.contract.assembly import contract_of
from octavo.http.contract.operation import Operation

OPERATIONS = contract_of(CONTRACT)
WITH_BODY = [each for each in OPERATIONS if each.body is not None and each.body.model is not None]
WITH_RESPONSE = [each for each in OPERATIONS if each.response_type is not None]


@cache
def paths() -> dict[str, dict[str, dict[str, object]]]:
    document = json.loads(json.dumps(contract_document()))
    found: dict[str, dict[str, dict[str, object]]] = document["paths"]
    return found


def described(each: Operation) -> dict[str, object]:
    return paths()[each.path][each.method.lower()]


def test_examples_exist_for_operations_with_a_body_or_a_response() -> None:
    assert set(EXAMPLES) == {each.id for each in (*WITH_BODY, *WITH_RESPONSE)}
    for each in OPERATIONS:
        example = EXAMPLES.get(each.id)
        assert (example is not None and example.request is not None) == (each in WITH_BODY)
        assert (example is not None and example.response is not None) == (each in WITH_RESPONSE)


@pytest.mark.parametrize("each", WITH_BODY, ids=lambda each: each.id)
def test_request_example_is_valid_and_in_the_document(each: Operation) -> None:
    assert each.body is not None
    assert each.body.model is not None
    request = EXAMPLES[each.id].request
    adapter: TypeAdapter[object] = TypeAdapter(each.body.model)
    adapter.validate_json(json.dumps(request), by_alias=True, by_name=False)
    body = described(each)["requestBody"]
    assert isinstance(body, dict)
    assert [content["example"] for content in body["content"].values()] == [request]


@pytest.mark.parametrize("each", WITH_RESPONSE, ids=lambda each: each.id)
def test_response_example_equals_the_models_output(each: Operation) -> None:
    response = EXAMPLES[each.id].response
    adapter: TypeAdapter[object] = TypeAdapter(each.response_type)  # type: ignore[arg-type]
    found = adapter.validate_json(json.dumps(response), by_alias=True, by_name=False)
    assert json.loads(adapter.dump_json(found, by_alias=True)) == response
    responses = described(each)["responses"]
    assert isinstance(responses, dict)
    content = responses[str(each.status)]["content"]["application/json"]
    assert content["example"] == response


def test_examples_are_loaded_with_the_document_only() -> None:
    code = "import sys, octavo.http.api.registry; print('octavo.http.api.examples' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_yjs_update_of_the_save_turns_one_text_into_the_next() -> None:
    file, save = EXAMPLES["getFile"].response, EXAMPLES["saveNote"].request
    assert isinstance(file, dict)
    assert isinstance(save, dict)
    note: Doc[Text] = Doc()
    note["text"] = Text()
    note.apply_update(b64decode(file["document"]["state"]))
    assert str(note["text"]) == file["text"]
    assert note.get_state() == b64decode(file["document"]["stateVector"])
    note.apply_update(b64decode(save["update"]))
    changeset = EXAMPLES["pushChangeset"].request
    assert isinstance(changeset, dict)
    assert str(note["text"]) == changeset["operations"][0]["text"]
    assert note.get_state() == b64decode(save["stateVector"])
