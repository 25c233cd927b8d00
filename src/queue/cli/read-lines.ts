import { UsageError } from "../../platform/cli/usage-error.ts";

export interface InputLine {
  /** Without the line end. */
  readonly line: Uint8Array;
  /** No further complete line has arrived yet. */
  readonly isLastWaiting: boolean;
}

const lineFeed = 10;
const carriageReturn = 13;

/** Lines of a byte stream, as they arrive; the last one may lack its line feed. */
export async function* readLines(input: AsyncIterable<Uint8Array>, lineBytesMax: number): AsyncGenerator<InputLine> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of input) {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = rest.indexOf(lineFeed); end !== -1; end = rest.indexOf(lineFeed, start)) {
      const next = rest.indexOf(lineFeed, end + 1);
      yield { line: withoutReturn(rest.subarray(start, end)), isLastWaiting: next === -1 };
      start = end + 1;
    }
    rest = rest.subarray(start);
    if (rest.length > lineBytesMax) {
      throw new UsageError(
        `Cannot read the input: a line has more than ${lineBytesMax} bytes`,
        "slipway queue publish",
      );
    }
  }
  if (rest.length > 0) yield { line: withoutReturn(rest), isLastWaiting: true };
}

function withoutReturn(line: Buffer): Buffer {
  return line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
}
