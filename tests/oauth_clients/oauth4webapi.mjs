// A program with oauth4webapi, which validates every response by the standard that it is of.
import * as oauth from "oauth4webapi";
import { endpoint, failure, listen, open, run } from "./program.mjs";

const PING = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

async function callEndpoint(token) {
  const headers = new Headers({ "content-type": "application/json" });
  const response = await oauth.protectedResourceRequest(token, "POST", endpoint, headers, PING);
  return response.status;
}

async function getAccess() {
  const { redirect, response } = await listen();
  const resource = await oauth.processResourceDiscoveryResponse(
    endpoint,
    await oauth.resourceDiscoveryRequest(endpoint),
  );
  const issuer = new URL(resource.authorization_servers[0]);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: "oauth2" }),
  );
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(server, {
      client_name: "oauth4webapi",
      redirect_uris: [redirect],
      token_endpoint_auth_method: "none",
    }),
  );
  const authentication = oauth.None();

  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const request = new URL(server.authorization_endpoint);
  request.search = new URLSearchParams({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: redirect,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    scope: resource.scopes_supported.join(" "),
    resource: resource.resource,
    state,
  });
  open(request);
  const arrived = await response();
  const changed = (change) => {
    const other = new URL(arrived);
    change(other.searchParams);
    return failure(() => oauth.validateAuthResponse(server, client, other, state));
  };
  const mixups = [
    await changed((parameters) => parameters.set("iss", "https://other.example")),
    await changed((parameters) => parameters.delete("iss")),
  ];
  const parameters = oauth.validateAuthResponse(server, client, arrived, state);
  const additionalParameters = { resource: resource.resource };
  const first = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authentication,
      parameters,
      redirect,
      verifier,
      { additionalParameters },
    ),
  );
  const statuses = [await callEndpoint(first.access_token)];
  const renew = async (token) =>
    oauth.processRefreshTokenResponse(
      server,
      client,
      await oauth.refreshTokenGrantRequest(server, client, authentication, token, {
        additionalParameters,
      }),
    );
  const second = await renew(first.refresh_token);
  statuses.push(await callEndpoint(second.access_token));
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(server, client, authentication, second.refresh_token),
  );
  const challenge = await oauth
    .protectedResourceRequest(second.access_token, "POST", endpoint)
    .catch((error) => error);
  return {
    issuer: server.issuer,
    scopes: [first.scope, second.scope],
    statuses,
    mixups,
    challenge: challenge.cause[0].parameters,
    ended: await failure(() => renew(second.refresh_token)),
  };
}

await run(getAccess);
