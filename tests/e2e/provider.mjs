// A certified OpenID Connect provider on loopback, with the accounts of the test.
// node provider.mjs LIBRARY PORT CALLBACK ACCOUNTS
const [, , library, port, callback, accounts] = process.argv;
const { default: Provider } = await import(library);
const known = JSON.parse(accounts);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "candor",
      client_secret: "only-on-loopback",
      redirect_uris: [callback],
      post_logout_redirect_uris: [callback],
    },
  ],
  claims: { openid: ["sub"], profile: ["name", "roles", "groups"], email: ["email"] },
  conformIdTokenClaims: false,
  cookies: { keys: ["only-on-loopback"] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...known[id] }) }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
