// Validate pages: a JSON object of HTML by name comes in, one of messages by name goes out.
import { readFileSync } from "node:fs";
import { HtmlValidate, StaticConfigLoader } from "html-validate";

const loader = new StaticConfigLoader({
  extends: ["html-validate:standard"],
  rules: {
    // Whether attributes are quoted, and how text is written, is a matter of style.
    "attribute-boolean-style": "off",
    "no-inline-style": "error",
    "no-trailing-whitespace": "off",
    "long-title": "off",
    "doctype-style": "off",
    "void-style": "off",
  },
});
const validator = new HtmlValidate(loader);
const pages = JSON.parse(readFileSync(0, "utf8"));
const found = {};
for (const [name, html] of Object.entries(pages)) {
  const report = await validator.validateString(html, name);
  for (const result of report.results) {
    found[name] = result.messages.map(
      (each) => `${each.ruleId}: ${each.message} (${each.line}:${each.column})`,
    );
  }
}
process.stdout.write(JSON.stringify(found));
