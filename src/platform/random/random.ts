import { randomBytes as nodeRandomBytes, randomUUID } from "node:crypto";

/** Randomness as a port. `fraction` is for jitter and spreading; anything secret takes `bytes`. */
export interface Random {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** Cryptographically strong in production, seeded in simulation. */
  bytes(size: number): Uint8Array;
  uuid(): string;
}

export const systemRandom: Random = {
  fraction: () => Math.random(),
  bytes: (size) => nodeRandomBytes(size),
  uuid: () => randomUUID(),
};

const base62Alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** `length` uniform base62 characters (about 5.95 bits each). */
export function randomBase62(random: Random, length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of random.bytes(length)) {
      if (byte < 248 && text.length < length) text += base62Alphabet[byte % 62];
    }
  }
  return text;
}

/** A small fast generator (mulberry32) for simulations and tests: the same seed gives the same sequence. */
export function createSeededRandom(seed: number): Random {
  let state = seed >>> 0;
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const bytes = (size: number): Uint8Array => Uint8Array.from({ length: size }, () => Math.floor(fraction() * 256));
  const uuid = (): string => {
    const hex = Buffer.from(bytes(16)).toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  return { fraction, bytes, uuid };
}
