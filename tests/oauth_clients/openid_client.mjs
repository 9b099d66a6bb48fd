// A program with openid-client, which discovers, registers and authenticates by a secret.
import * as client from "openid-client";
import { endpoint, failure, listen, open, run } from "./program.mjs";

const PING = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

async function getAccess() {
  const { redirect, response } = await listen();
  const server = new URL(endpoint.origin);
  const config = await client.dynamicClientRegistration(
    server,
    { client_name: "openid-client", redirect_uris: [redirect] },
    undefined,
    { algorithm: "oauth2" },
  );
  const verifier = client.randomPKCECodeVerifier();
  const resource = { resource: endpoint.href };
  const state = client.randomState();
  open(
    client.buildAuthorizationUrl(config, {
      redirect_uri: redirect,
      scope: "notes:read notes:write",
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      ...resource,
    }),
  );
  const arrived = await response();
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  const grant = (address) => client.authorizationCodeGrant(config, address, checks, resource);
  const changed = (change) => {
    const other = new URL(arrived);
    change(other.searchParams);
    return failure(() => grant(other));
  };
  const mixups = [
    await changed((parameters) => parameters.set("iss", "https://other.example")),
    await changed((parameters) => parameters.delete("iss")),
  ];
  const first = await grant(arrived);
  const call = async (token) => {
    const headers = new Headers({ "content-type": "application/json" });
    const called = client.fetchProtectedResource(config, token, endpoint, "POST", PING, headers);
    return (await called).status;
  };
  const statuses = [await call(first.access_token)];
  const renew = (token) => client.refreshTokenGrant(config, token, resource);
  const second = await renew(first.refresh_token);
  statuses.push(await call(second.access_token));
  await client.tokenRevocation(config, second.refresh_token);
  const challenge = await call(second.access_token).catch((error) => error);
  return {
    issuer: config.serverMetadata().issuer,
    method: config.clientMetadata().token_endpoint_auth_method,
    scopes: [first.scope, second.scope],
    statuses,
    mixups,
    challenge: challenge.cause[0].parameters,
    ended: await failure(() => renew(second.refresh_token)),
  };
}

await run(getAccess);
