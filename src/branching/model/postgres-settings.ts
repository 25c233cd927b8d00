/**
 * Settings that every branch is started with. They are given on the command line, where they win over the source's
 * postgresql.conf and ALTER SYSTEM. Three aims: the branch starts on any small machine, it copies up as little as
 * possible, and nothing in it can reach what the source was connected to (archive, primary, publisher, jobs).
 */
import { branchingError } from "../errors.ts";

export type BranchDurability = "on" | "off";

export interface BranchSettingsInput {
  readonly branchName: string;
  readonly dataFolder: string;
  readonly sourceMaxConnections: number;
  readonly maxConnections: number;
  readonly sharedBuffers: string;
  readonly walSegmentBytes: number;
  readonly durability: BranchDurability;
  /** `auto` recycles where a new segment costs as much as an old one. */
  readonly walRecycle: "auto" | "on" | "off";
  /** True where a changed block of a shared file costs only that block. */
  readonly clonesExtents: boolean;
  /** From --branch-pg-conf; they win over everything that is not guarded. */
  readonly overrides: readonly PostgresSetting[];
}

export interface PostgresSetting {
  readonly name: string;
  readonly value: string;
}

/** A branch that could change these would leave its cage or could not be found again. */
const guardedNames = new Set([
  "port",
  "listen_addresses",
  "unix_socket_directories",
  "hba_file",
  "ident_file",
  "data_directory",
  "config_file",
  "external_pid_file",
  "logging_collector",
  "ssl",
  "primary_conninfo",
  "primary_slot_name",
  "restore_command",
  "archive_cleanup_command",
  "recovery_end_command",
  "archive_mode",
  "archive_command",
  "archive_library",
  "synchronous_standby_names",
  "max_logical_replication_workers",
  "recovery_init_sync_method",
]);

export function listBranchSettings(input: BranchSettingsInput): readonly PostgresSetting[] {
  const settings = new Map<string, string>();
  const set = (name: string, value: string | number): void => {
    settings.set(name, String(value));
  };
  set("max_connections", Math.min(input.sourceMaxConnections, input.maxConnections));
  set("shared_buffers", input.sharedBuffers);
  set("huge_pages", "off");
  set("max_wal_size", "1GB");
  set("min_wal_size", `${Math.max(2, (2 * input.walSegmentBytes) / mebibyte)}MB`);
  set("checkpoint_timeout", "15min");
  set("wal_init_zero", "off");
  if (!input.clonesExtents) set("bgwriter_lru_maxpages", 0);
  set("wal_recycle", input.walRecycle === "auto" ? (input.clonesExtents ? "off" : "on") : input.walRecycle);
  set("synchronous_commit", "off");
  set("fsync", input.durability);
  set("full_page_writes", input.durability);
  set("max_wal_senders", 4);
  set("log_destination", "stderr");
  set("cluster_name", input.branchName);
  for (const override of input.overrides) set(override.name, override.value);
  for (const fixed of listCageSettings(input.dataFolder)) set(fixed.name, fixed.value);
  return [...settings].map(([name, value]) => ({ name, value }));
}

const mebibyte = 1024 * 1024;

/** What no override may change. */
function listCageSettings(dataFolder: string): readonly PostgresSetting[] {
  const values: Readonly<Record<string, string>> = {
    data_directory: dataFolder,
    hba_file: `${dataFolder}/${hbaFileName}`,
    ident_file: `${dataFolder}/pg_ident.conf`,
    external_pid_file: "",
    port: "5432",
    listen_addresses: "*",
    unix_socket_directories: "/var/run/postgresql",
    logging_collector: "off",
    ssl: "off",
    recovery_init_sync_method: "syncfs",
    primary_conninfo: "",
    primary_slot_name: "",
    restore_command: "",
    archive_cleanup_command: "",
    recovery_end_command: "",
    archive_mode: "off",
    archive_command: "",
    synchronous_standby_names: "",
    max_logical_replication_workers: "0",
    "cron.launch_active_jobs": "off",
  };
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

export const hbaFileName = "branchsvc_hba.conf";

/** `work_mem=64MB`: one setting of --branch-pg-conf. */
export function parsePostgresSetting(text: string): PostgresSetting {
  const match = text.match(/^\s*([a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?)\s*=(.*)$/i);
  const name = match?.[1]?.toLowerCase();
  const value = match?.[2]?.trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused
  if (name === undefined || value === undefined || /[\u0000-\u001f\u007f]/.test(value)) {
    throw branchingError(
      "invalid_request",
      `Cannot use the Postgres setting "${text}": it must look like work_mem=64MB`,
    );
  }
  if (guardedNames.has(name)) {
    throw branchingError(
      "invalid_request",
      `Cannot use the Postgres setting "${name}": branches need their own value of it`,
    );
  }
  return { name, value };
}

/** The lines that let nobody in over the network, and those that ask everybody for the source's password. */
export const closedHba = ["local all all trust", "host all all all reject", "host replication all all reject"];
export const openHba = ["local all all trust", "host all all all md5", "host replication all all reject"];
