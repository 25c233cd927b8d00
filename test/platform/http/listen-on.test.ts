import t from "tap";
import { toListenError } from "../../../src/platform/http/listen-on.ts";

t.test("toListenError() says what to do about each cause", async (t) => {
  const address = { host: "127.0.0.1", port: 80 };
  const table: readonly (readonly [string | undefined, string])[] = [
    ["EADDRINUSE", "another process uses that port; stop it or choose another port"],
    ["EACCES", "this user may not open that port; choose one from 1024 up"],
    ["EADDRNOTAVAIL", 'this machine has no such address; use one of its own, or ":80" for all'],
    ["ENOTFOUND", "the host name is not known here; use an address of this machine"],
    ["EAI_AGAIN", "the host name is not known here; use an address of this machine"],
    ["EMFILE", "EMFILE"],
    [undefined, "the text of the cause"],
  ];
  for (const [code, text] of table) {
    const cause = new Error("the text of the cause");
    const error = toListenError(cause, code, address);
    t.equal(error.message, `Cannot listen on "127.0.0.1:80": ${text}`);
    t.equal(error.cause, cause);
    t.strictSame(
      [error.code, error.kind, error.details],
      ["CANNOT_LISTEN", "failed_precondition", { address: "127.0.0.1:80" }],
    );
  }
});
