import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { call, startServer } from "../support/e2e/executable.ts";

function createFolder(): string {
  return mkdtempSync(join(tmpdir(), "slipway-up-"));
}

t.test("slipway up --demo feeds every server and stops cleanly", async (t) => {
  const cwd = createFolder();
  t.teardown(() => rmSync(cwd, { recursive: true }));
  const { exitCode, output, errorOutput } = await call(["up", "--demo", "--once", "--free-ports"], {
    cwd,
    timeoutMs: 120_000,
  });
  t.equal(exitCode, 0, errorOutput);
  for (const part of [
    /^SERVICE +STATE +WHAT +WHERE$/m,
    /^queue +running +REST/m,
    /received critical order-2 .*: acknowledged/,
    /received normal order-1 .*: acknowledged/,
    /received low order-3 .*: rejected/,
    /a second later/,
    /1 message in demo-orders-dlq/,
  ]) {
    t.match(output, part);
  }
  t.match(errorOutput, /queue stopped/);
  const again = await call(["up", "--demo", "--once", "--free-ports"], { cwd, timeoutMs: 120_000 });
  t.equal(again.exitCode, 0, "the demo runs again on its own data");
});

t.test("slipway up serves until it is interrupted", async (t) => {
  const cwd = createFolder();
  t.teardown(() => rmSync(cwd, { recursive: true }));
  const server = startServer(["up", "--free-ports"], { cwd });
  t.teardown(() => server.stop("SIGKILL"));
  const url = (await server.waitFor(/queue +running +REST\S*.* (http:\/\/127\.0\.0\.1:\d+)/))[1];
  await server.waitFor(/Ctrl-C stops everything/);
  t.equal((await fetch(`${url}/readyz`)).status, 200);
  t.equal(await server.stop("SIGINT"), 0);
  t.match(server.said(), /queue stopped/);
  await t.rejects(fetch(`${url}/readyz`));
});
