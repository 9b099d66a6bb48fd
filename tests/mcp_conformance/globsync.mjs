// Node.js before 22 has no fs.globSync, which the suite imports, but no scenario for servers calls.
import * as fs from "node:fs";
import { register } from "node:module";

const inline = (source) => "data:text/javascript," + encodeURIComponent(source);

if (!fs.globSync) {
  const extended = inline(
    "export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = undefined;",
  );
  register(
    inline(
      `export const resolve = (name, context, next) =>
        name === "fs"
          ? { url: ${JSON.stringify(extended)}, format: "module", shortCircuit: true }
          : next(name, context);`,
    ),
  );
}
