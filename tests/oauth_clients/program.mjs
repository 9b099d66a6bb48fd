// What the programs of this folder have in common: the endpoint, which is their first argument, the
// address of their metadata document, if they have one, a listener on the loopback interface, and
// the lines of JSON by which they speak to the test.
import { createServer } from "node:http";
import { once } from "node:events";

export const endpoint = new URL(process.argv[2]);
export const metadataDocument = process.argv[3];

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** Let the person open an address. */
export const open = (address) => say({ open: String(address) });

/** Listen for the responses that the browser brings. */
export async function listen() {
  const waiting = [];
  const arrived = [];
  const server = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<h1>Back in the program</h1>");
    if (!request.url.startsWith("/callback")) return;
    const address = new URL(request.url, `http://127.0.0.1:${server.address().port}`);
    const next = waiting.shift();
    if (next) next(address);
    else arrived.push(address);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    redirect: `http://127.0.0.1:${server.address().port}/callback`,
    response: () =>
      arrived.length > 0 ? arrived.shift() : new Promise((resolve) => waiting.push(resolve)),
  };
}

/** Run the program; what it returns is for the test. */
export async function run(program) {
  try {
    say({ result: await program() });
    process.exit(0);
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}

/** Return the error of a call that must fail: its code, if the server sent it, or its message. */
export async function failure(call) {
  try {
    await call();
  } catch (error) {
    return error.error ?? error.cause?.message ?? error.message;
  }
  throw new Error("the call did not fail");
}
