import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomically } from "../../../platform/files/owner-only.ts";
import { type Random, randomBase62 } from "../../../platform/random/random.ts";
import { queueError } from "../../errors.ts";

/**
 * What a data directory is bound to at its first start and never changes: the cluster it belongs to, the node it is the
 * memory of, and the number of data shards, by which partitions are placed.
 */
export interface NodeIdentity {
  readonly clusterId: string;
  readonly nodeId: string;
  readonly shardCount: number;
}

const fileName = "node.json";
const formatVersion = 1;
const clusterIdLength = 22;

export interface IdentityOptions {
  readonly dataDir: string;
  readonly nodeId: string;
  /** For a new directory. */
  readonly shardCount: number;
  readonly random: Random;
}

/** @throws DomainError NOT_READY when the directory belongs to another node or was written by a newer release */
export function openNodeIdentity(options: IdentityOptions): NodeIdentity {
  const path = join(options.dataDir, fileName);
  if (existsSync(path)) return assertSameNode(readIdentity(path), options);
  const identity = {
    clusterId: randomBase62(options.random, clusterIdLength),
    nodeId: options.nodeId,
    shardCount: options.shardCount,
  };
  writeFileAtomically(path, `${JSON.stringify({ version: formatVersion, ...identity })}\n`);
  return identity;
}

function readIdentity(path: string): NodeIdentity {
  let content: Partial<NodeIdentity> & { readonly version?: number };
  try {
    content = JSON.parse(readFileSync(path, "utf8")) as typeof content;
  } catch (error) {
    throw refuse(path, "it is not valid JSON", error);
  }
  const { version, clusterId, nodeId, shardCount } = content;
  if (version !== formatVersion) {
    throw refuse(path, `its format is ${String(version)}, this release knows ${formatVersion}`, undefined);
  }
  if (typeof clusterId !== "string" || typeof nodeId !== "string" || !Number.isSafeInteger(shardCount)) {
    throw refuse(path, "fields are missing", undefined);
  }
  return { clusterId, nodeId, shardCount: Number(shardCount) };
}

function assertSameNode(identity: NodeIdentity, options: IdentityOptions): NodeIdentity {
  if (identity.nodeId === options.nodeId) return identity;
  throw queueError(
    "NOT_READY",
    `Cannot use the data directory "${options.dataDir}": it belongs to node "${identity.nodeId}", not "${options.nodeId}"; ` +
      "set QUEUE_BROKER_NODEID to that name, or use another directory",
  );
}

function refuse(path: string, problem: string, cause: unknown): Error {
  return queueError("NOT_READY", `Cannot read "${path}": ${problem}`, { cause });
}
