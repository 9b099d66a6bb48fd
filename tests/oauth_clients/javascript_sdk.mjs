// A program with the first major version of the JavaScript SDK.
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { run } from "./program.mjs";
import { useEndpoint } from "./sdk_flow.mjs";

const finish = (transport, response) => transport.finishAuth(response.searchParams.get("code"));

await run(() => useEndpoint({ Client, Transport, UnauthorizedError, finish }));
