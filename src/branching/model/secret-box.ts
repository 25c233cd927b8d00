/**
 * Seals branch passwords at rest: AES-256-GCM under a key of its own, `enc:v2:<key id>:<base64 of nonce, text, tag>`.
 * The key id tells which key opens it, so that keys can be replaced; one that nobody has makes a password unavailable,
 * never a row unreadable.
 */
import { createCipheriv, createDecipheriv, createHash } from "node:crypto";
import { branchingError } from "../errors.ts";

export const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const prefix = "enc:v2:";

export interface SecretKey {
  readonly id: string;
  readonly bytes: Buffer;
}

/** 32 bytes, as 64 hexadecimal digits or base64. */
export function parseSecretKey(text: string, origin: string): SecretKey {
  const trimmed = text.trim();
  const bytes = /^[0-9a-f]{64}$/i.test(trimmed) ? Buffer.from(trimmed, "hex") : decodeBase64(trimmed);
  if (bytes?.length !== keyBytes) {
    throw branchingError(
      "secret_key_invalid",
      `Cannot use the secret key from ${origin}: it must be ${keyBytes} bytes in hex or base64`,
    );
  }
  return { id: createHash("sha256").update(bytes).digest("hex").slice(0, 8), bytes };
}

function decodeBase64(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? Buffer.from(text, "base64") : undefined;
}

export interface SecretKeys {
  readonly primary: SecretKey;
  readonly previous: readonly SecretKey[];
}

export function sealSecret(keys: SecretKeys, plain: string, nonce: Uint8Array): string {
  const { id, bytes } = keys.primary;
  const cipher = createCipheriv("aes-256-gcm", bytes, nonce);
  cipher.setAAD(Buffer.from(id));
  const text = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return `${prefix}${id}:${Buffer.concat([nonce, text, cipher.getAuthTag()]).toString("base64")}`;
}

/** Undefined when no key of that id is there, or the text was changed. */
export function openSecret(keys: SecretKeys, sealed: string): string | undefined {
  const [id, encoded] = splitSealed(sealed);
  const key = [keys.primary, ...keys.previous].find((candidate) => candidate.id === id);
  if (key === undefined || encoded === undefined) return undefined;
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.length < nonceBytes + tagBytes) return undefined;
  try {
    const decipher = createDecipheriv("aes-256-gcm", key.bytes, bytes.subarray(0, nonceBytes));
    decipher.setAAD(Buffer.from(key.id));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    const text = bytes.subarray(nonceBytes, -tagBytes);
    return Buffer.concat([decipher.update(text), decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}

export function isSealedUnder(key: SecretKey, sealed: string): boolean {
  return splitSealed(sealed)[0] === key.id;
}

function splitSealed(sealed: string): readonly [string | undefined, string | undefined] {
  if (!sealed.startsWith(prefix)) return [undefined, undefined];
  const [id, encoded] = sealed.slice(prefix.length).split(":");
  return [id, encoded];
}

export const secretNonceBytes = nonceBytes;
