// A program with the second major version of the JavaScript SDK.
import {
  Client,
  StreamableHTTPClientTransport as Transport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { run } from "./program.mjs";
import { useEndpoint } from "./sdk_flow.mjs";

// With all its parameters, so that the SDK validates `iss`.
const finish = (transport, response) => transport.finishAuth(response.searchParams);

await run(() => useEndpoint({ Client, Transport, UnauthorizedError, finish }));
