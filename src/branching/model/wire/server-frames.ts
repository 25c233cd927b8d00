/**
 * Reads what a server says until it is ready for the first query, without holding anything back: only frame headers,
 * and the body of BackendKeyData, by which a cancel request finds its session.
 */
const headerBytes = 5;
const keyDataType = "K".charCodeAt(0);
const readyType = "Z".charCodeAt(0);
const keyBytesMax = 4 + 256;

export class ServerFrames {
  #pending = Buffer.alloc(0);
  #skip = 0;
  #isReady = false;
  #key: string | undefined;

  /** Process id and secret in hex, as a cancel request carries them. */
  get key(): string | undefined {
    return this.#key;
  }
  get isReady(): boolean {
    return this.#isReady;
  }

  push(chunk: Buffer): void {
    if (this.#isReady) return;
    let rest = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    for (;;) {
      const skipped = Math.min(this.#skip, rest.length);
      this.#skip -= skipped;
      rest = rest.subarray(skipped);
      if (this.#skip > 0 || rest.length < headerBytes) break;
      const type = rest[0];
      const size = 1 + rest.readUInt32BE(1);
      if (type === keyDataType && size - headerBytes <= keyBytesMax) {
        if (rest.length < size) break;
        this.#key = rest.toString("hex", headerBytes, size);
      }
      this.#skip = size;
      if (type === readyType) {
        this.#isReady = true;
        this.#pending = Buffer.alloc(0);
        return;
      }
    }
    this.#pending = Buffer.from(rest);
  }
}
