import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { buildEmptyRootImage, docker, tryDocker } from "../support/e2e/docker.ts";
import { call, executablePath } from "../support/e2e/executable.ts";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

t.test("the executable says its version and nothing else", async (t) => {
  for (const word of ["--version", "-V", "version"]) {
    const { exitCode, output, errorOutput } = await call([word]);
    t.equal(exitCode, 0);
    t.equal(output, `slipway ${version}\n`);
    t.equal(errorOutput, "", "no warning on standard error");
  }
  t.ok(statSync(executablePath).size <= 130_000_000, "at most 130 MB");
});

t.test("the executable ignores NODE_OPTIONS and answers to the name it is called by", async (t) => {
  const { exitCode, errorOutput } = await call(["--version"], { env: { NODE_OPTIONS: "--no-such-flag" } });
  t.equal(exitCode, 0);
  t.equal(errorOutput, "");
  const folder = mkdtempSync(join(tmpdir(), "slipway-link-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const name of ["bsctl", "bsd", "fleetscope", "catalog"]) {
    const link = join(folder, name);
    symlinkSync(executablePath, link);
    const result = spawnSync(link, ["--help"], { encoding: "utf8" });
    t.equal(result.status, 0, name);
    t.match(result.stdout, new RegExp(`Usage: ${name}`), name);
  }
  copyFileSync(executablePath, join(folder, "other"));
  t.match(spawnSync(join(folder, "other"), ["--help"], { encoding: "utf8" }).stdout, "Usage: slipway <command>");
});

t.test("every command of the table has help with an example", async (t) => {
  const overview = (await call(["--help"])).output;
  const names = [...overview.matchAll(/^ {2}([a-z-]+) {2,}\S/gm)].map((match) => match[1] ?? "");
  t.ok(names.length >= 5, names.join(", "));
  for (const name of names) {
    const { exitCode, output } = await call([name, "--help"]);
    t.equal(exitCode, 0, name);
    t.match(output, "Usage: slipway", name);
  }
});

t.test(
  "the executable runs in an empty root as UID 65532, without network, capabilities or a writable root",
  async (t) => {
    const image = buildEmptyRootImage();
    t.teardown(() => tryDocker("rmi", "-f", image));
    const hardened = ["--read-only", "--cap-drop", "ALL", "--network", "none", "--security-opt", "no-new-privileges"];
    t.equal(docker("run", "--rm", ...hardened, image, "--version"), `slipway ${version}`);
    t.match(docker("run", "--rm", ...hardened, image, "fleetscope", "--help"), "Usage: slipway fleetscope");
    const user = docker("inspect", "--format", "{{.Config.User}}", image);
    t.equal(user, "65532:65532");
    t.ok(existsSync("Dockerfile"));
    t.match(readFileSync("Dockerfile", "utf8"), 'ENTRYPOINT ["/slipway"]');
  },
);
