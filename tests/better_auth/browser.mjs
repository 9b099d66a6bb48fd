// The JavaScript client of better-auth, unchanged, as a page of the installation runs it. Reads a
// call from each line of standard input, and writes its result, as JSON.
//
// A browser adds two things to what the client sends, which the fetch of Node.js lacks: it stores
// the cookies that it receives and sends them back, and it names the origin of the page. It also
// finds the server by the name of the installation; here, the server is on the loopback interface.
import { createInterface } from "node:readline";
import { createAuthClient } from "better-auth/client";

const { OCTAVO_ORIGIN: origin, OCTAVO_SERVER: server } = process.env;
const cookies = new Map();

async function fetchAsBrowser(target, options = {}) {
  const url = new URL(target);
  if (url.origin !== origin) throw new Error(`not of the installation: ${url}`);
  const headers = new Headers(options.headers);
  headers.set("origin", origin);
  if (cookies.size > 0 && options.credentials !== "omit") {
    headers.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
  }
  const response = await fetch(server + url.pathname + url.search, { ...options, headers });
  for (const line of response.headers.getSetCookie()) {
    const [pair, ...attributes] = line.split(/; */);
    const [name, value] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    if (attributes.some((each) => /^max-age=0$/i.test(each))) cookies.delete(name);
    else cookies.set(name, value);
  }
  return response;
}

const client = createAuthClient({
  baseURL: origin,
  fetchOptions: { customFetchImpl: fetchAsBrowser },
});

const calls = {
  signIn: (given) => client.signIn.email(given),
  getSession: () => client.getSession(),
  signOut: () => client.signOut(),
  requestPasswordReset: (given) => client.requestPasswordReset(given),
  resetPassword: (given) => client.resetPassword(given),
  changePassword: (given) => client.changePassword(given),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { call, given } = JSON.parse(line);
  let result;
  try {
    result = await calls[call](given);
  } catch (error) {
    result = { thrown: String(error) };
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
