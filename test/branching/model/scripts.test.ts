import { spawnSync } from "node:child_process";
import t from "tap";
import { formatBranchScript, formatReleaseScript } from "../../../src/branching/model/branch-script.ts";
import { listBranchSettings, parsePostgresSetting } from "../../../src/branching/model/postgres-settings.ts";
import {
  cleanCopyScript,
  formatClientScript,
  formatFinishScript,
  formatSettleStartScript,
  parseBackupProgress,
  parseControlFile,
  prepareSeedScript,
  settleStopScript,
  walFileName,
} from "../../../src/branching/model/seed-scripts.ts";
import { listUsageArgv } from "../../../src/branching/model/usage-script.ts";

const input = {
  branchName: "b",
  dataFolder: "/b/data",
  sourceMaxConnections: 100,
  maxConnections: 100,
  sharedBuffers: "128MB",
  walSegmentBytes: 16 * 1024 * 1024,
  durability: "on",
  walRecycle: "auto",
  clonesExtents: false,
  overrides: [],
} as const;

function settingsOf(changes: object): Readonly<Record<string, string>> {
  return Object.fromEntries(listBranchSettings({ ...input, ...changes }).map(({ name, value }) => [name, value]));
}

t.test("every branch is caged, whatever its owner asks for", async (t) => {
  const settings = settingsOf({
    overrides: [
      { name: "work_mem", value: "64MB" },
      { name: "shared_buffers", value: "1GB" },
      { name: "archive_mode", value: "on" },
    ],
  });
  t.equal(settings["work_mem"], "64MB");
  t.equal(settings["shared_buffers"], "1GB");
  for (const [name, value] of Object.entries({
    archive_mode: "off",
    max_logical_replication_workers: "0",
    primary_conninfo: "",
    restore_command: "",
    recovery_init_sync_method: "syncfs",
    synchronous_standby_names: "",
    ssl: "off",
    hba_file: "/b/data/branchsvc_hba.conf",
    "cron.launch_active_jobs": "off",
  })) {
    t.equal(settings[name], value, name);
  }
});

t.test("caps follow the source and the filesystem", async (t) => {
  t.equal(settingsOf({ sourceMaxConnections: 20 })["max_connections"], "20");
  t.equal(settingsOf({ sourceMaxConnections: 2000 })["max_connections"], "100");
  t.equal(settingsOf({ walSegmentBytes: 64 * 1024 * 1024 })["min_wal_size"], "128MB");
  t.equal(settingsOf({ clonesExtents: true })["wal_recycle"], "off");
  t.equal(settingsOf({ walRecycle: "off" })["wal_recycle"], "off");
  t.equal(settingsOf({ walRecycle: "on", clonesExtents: true })["wal_recycle"], "on");
  t.equal(settingsOf({ durability: "off" })["fsync"], "off");
});

t.test("parsePostgresSetting() takes name=value and guards the cage", async (t) => {
  t.strictSame(parsePostgresSetting(" Work_Mem = 64MB "), { name: "work_mem", value: "64MB" });
  t.strictSame(parsePostgresSetting("pg_stat.x=a=b"), { name: "pg_stat.x", value: "a=b" });
  for (const text of ["", "work_mem", "=x", "a b=c", "hba_file=/x", "ARCHIVE_COMMAND=cp", "a=b\nc"]) {
    t.throws(() => parsePostgresSetting(text), { code: "invalid_request" }, JSON.stringify(text));
  }
});

const scripts: Readonly<Record<string, string>> = {
  overlay: formatBranchScript({
    layout: "overlay",
    layerCount: 2,
    settings: listBranchSettings(input),
    isReleased: false,
  }),
  reflink: formatBranchScript({
    layout: "reflink",
    layerCount: 0,
    settings: listBranchSettings(input),
    isReleased: true,
  }),
  release: formatReleaseScript("overlay"),
  client: formatClientScript({ host: "h", port: 1, user: "u", database: "d", sslMode: "verify-full", major: 17 }),
  prepare: prepareSeedScript,
  clean: cleanCopyScript,
  start: formatSettleStartScript(17),
  stop: settleStopScript,
  finish: formatFinishScript("000000010000000000000003"),
  usage: listUsageArgv("reflink", true)[2] ?? "",
};

t.test("every script is valid POSIX shell", async (t) => {
  for (const [name, script] of Object.entries(scripts)) {
    const result = spawnSync("sh", ["-n"], { input: script, encoding: "utf8" });
    t.equal(result.status, 0, `${name}: ${result.stderr}`);
    t.notMatch(script, /undefined|\[object/, name);
  }
});

t.test("the overlay stacks the newest layer first and the gate starts closed", async (t) => {
  t.match(
    scripts["overlay"],
    /lowerdir=\/b\/2\/upper:\/b\/1\/upper:\/b\/0\/data,upperdir=\/b\/w\/upper,workdir=\/b\/w\/work/,
  );
  t.match(scripts["overlay"], /if \[ -e \/b\/w\/released \]; then printf .* 'host all all all md5'/);
  t.match(scripts["overlay"], /else printf .* 'host all all all reject'/);
  t.notMatch(scripts["overlay"], /host [^']*trust/, "no line trusts the network");
  t.match(scripts["reflink"], /if true; then/);
});

t.test("pg_basebackup's progress and the control file are read", async (t) => {
  t.strictSame(parseBackupProgress(" 23456/234567 kB (10%), 0/1 tablespace"), {
    doneBytes: 23_456 * 1024,
    totalBytes: 234_567 * 1024,
  });
  t.equal(parseBackupProgress("waiting for checkpoint"), undefined);
  const bytes = Buffer.alloc(512);
  bytes.writeUInt32LE(1, 16);
  bytes.writeBigUInt64LE(0x1_0300_0028n, 40);
  bytes.writeUInt32LE(2, 48);
  const facts = parseControlFile(bytes);
  t.strictSame(facts, { isShutDown: true, redoPosition: 0x1_0300_0028n, timeline: 2 });
  t.equal(walFileName(facts, 16 * 1024 * 1024), "000000020000000100000003");
  t.equal(walFileName(facts, 64 * 1024 * 1024), "000000020000000100000000");
  bytes.writeUInt32LE(6, 16);
  t.equal(parseControlFile(bytes).isShutDown, false);
});
