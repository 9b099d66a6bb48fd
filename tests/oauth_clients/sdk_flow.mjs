// What a program does with an SDK of the protocol: all of authorization is the SDK's own.
import { endpoint, listen, metadataDocument, open } from "./program.mjs";

/** An `OAuthClientProvider` in memory. */
class Provider {
  constructor(redirect) {
    this.redirectUrl = redirect;
    this.clientMetadataUrl = metadataDocument;
    this.clientMetadata = {
      client_name: "The JavaScript SDK",
      redirect_uris: [redirect],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "client_secret_basic",
    };
  }
  state() {
    return (this.sent = crypto.randomUUID());
  }
  clientInformation() {
    return this.client;
  }
  saveClientInformation(client) {
    this.client = client;
  }
  tokens() {
    return this.held;
  }
  saveTokens(tokens) {
    this.held = tokens;
  }
  redirectToAuthorization(address) {
    open(address);
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  saveDiscoveryState(found) {
    this.discovered = found;
  }
  discoveryState() {
    return this.discovered;
  }
}

/** Call every tool; return their names. */
async function callTools(client, workspace_id, name) {
  // From now on the client knows the schema of each result, and refuses what differs.
  await client.listTools();
  const called = [];
  const call = async (tool, given) => {
    const result = await client.callTool({ name: tool, arguments: given });
    if (result.isError) throw new Error(`${tool}: ${result.content[0].text}`);
    called.push(tool);
    return result.structuredContent;
  };
  const text = "See [[tide]].";
  const made = await call("create_note", { workspace_id, path: `${name}.md`, text });
  const { note_id } = made;
  const again = { note_id, revision_id: made.revision_id, text: `${text} Again.` };
  let { revision_id } = await call("update_note", again);
  const edit = { note_id, revision_id, old_text: "Again.", new_text: "Twice.", replace_all: null };
  ({ revision_id } = await call("edit_note", edit));
  ({ revision_id } = await call("move_note", { note_id, revision_id, path: `${name}/moved.md` }));
  await call("list_workspaces", { cursor: null });
  const notes = await call("list_notes", { workspace_id, folder: null, cursor: null });
  const tide = notes.notes.find((each) => each.path === "tide.md").note_id;
  const whole = { first_line: null, last_line: null, start_character: null };
  await call("read_note", { note_id, revision_id: null, ...whole });
  await call("backlinks", { note_id: tide, cursor: null });
  await call("recent_changes", { workspace_id, cursor: null });
  await call("note_history", { note_id, cursor: null });
  await call("search", { query: "twice" });
  await call("fetch", { id: note_id });
  await call("delete_note", { note_id, revision_id });
  return called;
}

/** Use the endpoint by an SDK; `finish` gives its transport the response to the authorization. */
export async function useEndpoint({ Client, Transport, UnauthorizedError, finish }) {
  const { redirect, response } = await listen();
  const provider = new Provider(redirect);
  let transport;
  const connect = async () => {
    const client = new Client({ name: "tests", version: "1" });
    transport = new Transport(endpoint, { authProvider: provider });
    await client.connect(transport);
    return client;
  };
  const allowed = async (call) => {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      const arrived = await response();
      if (arrived.searchParams.get("state") !== provider.sent) throw new Error("another state");
      await finish(transport, arrived);
      return call();
    }
  };

  const client = await allowed(connect);
  const first = provider.tokens();
  const { tools } = await client.listTools();
  const called = await client.callTool({ name: "search", arguments: { query: "tide" } });
  const { resources } = await client.listResources();
  const [found] = called.structuredContent.results;
  const { uri } = resources.find((each) => each.uri === found.id);
  const { contents } = await client.readResource({ uri });

  const metadata = provider.discovered.authorizationServerMetadata;
  const { client_id, client_secret = "" } = provider.client;
  const revoked = await fetch(metadata.revocation_endpoint, {
    method: "POST",
    body: new URLSearchParams({ client_id, client_secret, token: first.access_token }),
  });
  // The SDK notices it by a 401.
  await client.callTool({ name: "list_workspaces", arguments: {} });
  const second = provider.tokens();

  const name = crypto.randomUUID();
  const workspace = found.id.split("/")[2];
  const note = { workspace_id: workspace, path: `${name}.md`, text: "Written by a program." };
  const created = await allowed(() => client.callTool({ name: "create_note", arguments: note }));
  return {
    tools: tools.map((each) => each.name),
    found: found.title,
    read: contents[0].text,
    revoked: revoked.status,
    refreshed: first.access_token !== second.access_token,
    scopes: [first.scope, second.scope, provider.tokens().scope],
    created: created.structuredContent,
    called: await callTools(client, workspace, `${name} again`),
    issuer: metadata.issuer,
    client: client_id,
  };
}
