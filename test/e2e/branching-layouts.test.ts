/**
 * Volume roots on filesystems that clone extents, made here in loop-mounted files: reflink copies on XFS and btrfs, and
 * the overlay on top of XFS, where a write copies a block and not a file. Postgres 15, because that is the major whose
 * pg_checksums this machine has; it must find no bad page in a branch, in a branch of a branch, and after a reset.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { LocalBench, startSource } from "../support/branching/local-bench.ts";
import { docker } from "../support/e2e/docker.ts";

t.setTimeout(600_000);
const kibibyte = 1024;
const pgChecksums = "/usr/lib/postgresql/15/bin/pg_checksums";
const imageBytes = 3 * 1024 ** 3;
const source = await startSource({ major: "15", initdbArguments: "--data-checksums" });
t.teardown(() => source[Symbol.dispose]());
source.sql("CREATE TABLE big AS SELECT g AS id, repeat('x', 200) AS body FROM generate_series(1, 200000) g");
source.sql("ALTER TABLE big ADD PRIMARY KEY (id)");

function shell(program: string, ...args: readonly string[]): string {
  const result = spawnSync(program, args, { encoding: "utf8" });
  if (result.status !== 0) throw new Error(`${program} ${args.join(" ")}: ${result.stderr}`);
  return result.stdout;
}

/** Checks every page of the stopped branch: where it lies, or in an overlay of our own on the generation. */
function checkPages(t: Test, root: string, branch: string, layout: "overlay" | "reflink"): void {
  const find = (part: string): string => join(root, readdirSync(root).find((name) => name.includes(part)) ?? "none");
  const volume = find(`-branch-${branch}-`);
  if (layout === "reflink") {
    t.match(shell(pgChecksums, "--check", "-D", join(volume, "data")), /Bad checksums: +0/, `${branch}: no bad page`);
    return;
  }
  const merged = join(root, "merged");
  mkdirSync(merged);
  const layers = `lowerdir=${find("-source-")}/data,upperdir=${volume}/upper,workdir=${volume}/work`;
  shell("mount", "-t", "overlay", "overlay", "-o", layers, merged);
  try {
    t.match(shell(pgChecksums, "--check", "-D", merged), /Bad checksums: +0/, `${branch}: no bad page`);
  } finally {
    shell("umount", merged);
    rmSync(merged, { recursive: true });
  }
}

class LoopMount implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "slipway-loop-"));
  readonly path = join(this.#folder, "mounted");

  constructor(filesystem: string) {
    const image = join(this.#folder, "image");
    writeFileSync(image, "");
    truncateSync(image, imageBytes);
    shell(`mkfs.${filesystem}`, "-q", image);
    mkdirSync(this.path);
    shell("mount", "-o", "loop", image, this.path);
  }

  [Symbol.dispose](): void {
    shell("umount", this.path);
    rmSync(this.#folder, { recursive: true });
  }
}

const cases = [
  { filesystem: "xfs", cow: "auto", layout: "reflink", rowBytesMax: 256 * kibibyte },
  { filesystem: "btrfs", cow: "auto", layout: "reflink", rowBytesMax: 256 * kibibyte },
  { filesystem: "xfs", cow: "overlay", layout: "overlay", rowBytesMax: 1024 * kibibyte },
] as const;

for (const { filesystem, cow, layout, rowBytesMax } of cases) {
  t.test(`${layout} on ${filesystem}`, async (t) => {
    using mount = new LoopMount(filesystem);
    await using bench = new LocalBench({ BRANCHSVC_VOLUME_ROOT: mount.path, BRANCHSVC_COW: cow });
    await bench.run("source", "add", "shop", "--host", source.host, "--pg-version", "15");
    t.match((await bench.try(["doctor"])).errorOutput, new RegExp(`source shop: layout ${layout}, clones extents`));
    const usageOf = async (branch: string): Promise<number> => {
      const rows = JSON.parse(await bench.run("branch", "ls", "--usage", "--json")) as {
        name: string;
        bytes: number;
      }[];
      return rows.find((row) => row.name === branch)?.bytes ?? -1;
    };
    const sum = async (branch: string): Promise<unknown> =>
      (await bench.sql(branch, "SELECT md5(string_agg(big::text, ',' ORDER BY id)) FROM big"))[0]?.[0];
    const origin = source.sql("SELECT md5(string_agg(big::text, ',' ORDER BY id)) FROM big");

    await bench.run("branch", "create", "one", "--from", "shop");
    const fresh = await usageOf("one");
    t.ok(fresh <= 2048 * kibibyte, `a fresh branch holds ${fresh} bytes`);
    t.equal(await sum("one"), origin, "the branch has the source's data");
    await bench.sql("one", "CHECKPOINT");
    const read = await usageOf("one");
    t.ok(read - fresh <= 2048 * kibibyte, `a full read added ${read - fresh} bytes`);
    await bench.sql("one", "UPDATE big SET body = 'y' WHERE id = 100000; CHECKPOINT");
    const updated = await usageOf("one");
    t.ok(updated - read <= rowBytesMax, `one row updated added ${updated - read} bytes`);

    const parentSum = await sum("one");
    await bench.run("branch", "create", "child", "--from-branch", "one");
    await bench.run("branch", "create", "sibling", "--from", "shop");
    t.equal(await sum("child"), parentSum, "the child starts from its parent");
    await bench.sql("child", "DELETE FROM big WHERE id % 2 = 0");
    await bench.sql("sibling", "UPDATE big SET body = 'z' WHERE id < 100");
    t.equal(await sum("one"), parentSum, "the parent does not see its child");
    t.not(await sum("child"), parentSum);
    await bench.run("branch", "reset", "child");
    t.equal(await sum("child"), parentSum, "a reset returns to the fork point");
    t.equal(
      source.sql("SELECT md5(string_agg(big::text, ',' ORDER BY id)) FROM big"),
      origin,
      "the source saw nothing",
    );

    const checked = layout === "reflink" ? ["one", "child", "sibling"] : ["sibling"];
    if (existsSync(pgChecksums)) {
      for (const name of checked) {
        docker("stop", "-t", "60", await bench.containerOf(name));
        checkPages(t, mount.path, name, layout);
      }
      await bench.run("gc");
      t.equal(await sum("one"), parentSum, "gc starts them again");
    } else t.comment(`pages are not checked: there is no ${pgChecksums}`);
    for (const name of ["one", "child", "sibling"]) await bench.run("branch", "destroy", name);
    await bench.run("source", "rm", "shop");
    const left = readdirSync(mount.path).filter((name) => name.startsWith("branchsvc-"));
    t.strictSame(left, [], "all folders are gone");
  });
}
