/** Where the at-rest key comes from: the environment, a named file, or `secret.key` in the home folder. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomically } from "../../platform/files/owner-only.ts";
import type { Random } from "../../platform/random/random.ts";
import { branchingError } from "../errors.ts";
import {
  isSealedUnder,
  keyBytes,
  openSecret,
  parseSecretKey,
  type SecretKey,
  sealSecret,
  secretNonceBytes,
} from "../model/secret-box.ts";
import type { SecretBox } from "../service/ports.ts";

export interface SecretKeyOptions {
  readonly key: string | undefined;
  readonly keyPath: string | undefined;
  readonly previousKeys: readonly string[];
  readonly homeFolder: string;
  /** The daemon makes a key on its first start; local mode only reads one. */
  readonly generates: boolean;
  readonly random: Random;
}

export const keyFileName = "secret.key";

/** Undefined when there is no key and none may be made. */
export function openSecretBox(options: SecretKeyOptions): SecretBox | undefined {
  const homeKey = readKeyFile(join(options.homeFolder, keyFileName), options.generates ? options.random : undefined);
  const primary = findPrimary(options) ?? homeKey;
  if (primary === undefined) return undefined;
  const retired = options.previousKeys.map((text) => parseSecretKey(text, "BRANCHSVC_SECRET_KEY_PREVIOUS"));
  const previous = [...retired, ...(homeKey === undefined || homeKey.id === primary.id ? [] : [homeKey])];
  const keys = { primary, previous };
  return {
    seal: (plain) => sealSecret(keys, plain, options.random.bytes(secretNonceBytes)),
    open: (sealed) => openSecret(keys, sealed),
    isStale: (sealed) => !isSealedUnder(primary, sealed),
  };
}

function findPrimary(options: SecretKeyOptions): SecretKey | undefined {
  if (options.key !== undefined) return parseSecretKey(options.key, "BRANCHSVC_SECRET_KEY");
  if (options.keyPath === undefined) return undefined;
  const key = readKeyFile(options.keyPath, undefined);
  if (key === undefined)
    throw branchingError(
      "secret_key_invalid",
      `Cannot read the secret key "${options.keyPath}": there is no such file`,
    );
  return key;
}

function readKeyFile(path: string, random: Random | undefined): SecretKey | undefined {
  if (!existsSync(path)) {
    if (random === undefined) return undefined;
    writeFileAtomically(path, `${Buffer.from(random.bytes(keyBytes)).toString("hex")}\n`);
  }
  return parseSecretKey(readFileSync(path, "utf8"), `"${path}"`);
}
