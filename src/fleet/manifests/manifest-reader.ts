/**
 * Bytes of one stream (a file, standard input, the body of a request) → objects, one document at a time. A stream that
 * is not what kubectl would read, or that passes a limit, ends in an error that names stream, line and limit; nothing is
 * skipped in silence.
 */
import { isUtf8 } from "node:buffer";
import { assert } from "../../platform/errors/assert.ts";
import { fleetError } from "../errors.ts";
import { DocumentSplitter, type OversizedDocument, type RawDocument } from "./document-splitter.ts";
import { maxDocumentSizeBytes, maxDocumentsPerStream, maxNodeUnits } from "./limits.ts";
import { expandDocument, type ManifestObject } from "./manifest-object.ts";
import { NodeBudget } from "./node-budget.ts";
import { readDocument } from "./read-document.ts";

export interface ManifestReaderOptions {
  /** Shown in errors and findings; `<stdin>` or a path. */
  readonly file: string;
  readonly onObject: (object: ManifestObject, origin: ManifestOrigin) => void;
  readonly onWarning: (warning: ReaderWarning) => void;
  /** One budget for the whole stream; without it every document has one of its own. */
  readonly budget?: NodeBudget;
  readonly maxDocuments?: number;
}

export interface ManifestOrigin {
  readonly file: string;
  /** Template that a Helm `# Source:` comment names. */
  readonly renderedFrom: string | undefined;
}

export interface ReaderWarning {
  readonly kind: "duplicate-key" | "no-object";
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

const byteOrderMarkSize = 3;

export class ManifestReader {
  readonly #options: ManifestReaderOptions;
  readonly #splitter = new DocumentSplitter();
  #documentCount = 0;
  #head: Uint8Array | undefined = new Uint8Array(0);

  constructor(options: ManifestReaderOptions) {
    this.#options = options;
  }

  /** Documents that held something. */
  get documentCount(): number {
    return this.#documentCount;
  }

  /** @throws DomainError manifest_invalid, manifest_limit_exceeded */
  push(chunk: Uint8Array): void {
    const bytes = this.#takeHead(chunk, false);
    if (bytes !== undefined) for (const document of this.#splitter.push(bytes)) this.#read(document);
  }

  /** @throws DomainError manifest_invalid, manifest_limit_exceeded */
  finish(): void {
    const rest = this.#takeHead(new Uint8Array(0), true);
    if (rest !== undefined) for (const document of this.#splitter.push(rest)) this.#read(document);
    for (const document of this.#splitter.finish()) this.#read(document);
  }

  /** Holds back the first bytes until a byte order mark can be told. */
  #takeHead(chunk: Uint8Array, isLast: boolean): Uint8Array | undefined {
    if (this.#head === undefined) return chunk;
    const bytes = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    if (bytes.length < byteOrderMarkSize && !isLast) {
      this.#head = Uint8Array.from(bytes);
      return undefined;
    }
    this.#head = undefined;
    if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
      throw this.#invalid(1, "it begins with a UTF-16 byte order mark; manifests are UTF-8");
    }
    const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    return hasMark ? bytes.subarray(byteOrderMarkSize) : bytes;
  }

  #read(document: RawDocument | OversizedDocument): void {
    if ("oversized" in document) {
      throw this.#limit(document.firstLine, `a document is larger than ${maxDocumentSizeBytes} bytes`);
    }
    const bytes = Buffer.from(document.bytes.buffer, document.bytes.byteOffset, document.bytes.length);
    if (bytes.length === 0) return;
    this.#assertText(bytes, document.firstLine);
    const text = bytes.toString("utf8");
    const budget = this.#options.budget ?? new NodeBudget(maxNodeUnits);
    const reading = readDocument(text, { budget, firstLine: document.firstLine });
    if (reading.kind === "refused") {
      throw reading.reason === "limit"
        ? this.#limit(reading.line, reading.problem)
        : this.#invalid(reading.line, reading.problem);
    }
    if (reading.root === undefined || reading.root === null) return;
    this.#countDocument(document.firstLine);
    const { file, onObject, onWarning } = this.#options;
    for (const { key, line } of reading.duplicates) {
      onWarning({ kind: "duplicate-key", file, line, text: `the key \`${key}\` is given twice; the last one holds` });
    }
    const { objects, strangers } = expandDocument(reading.root);
    if (strangers > 0) {
      const line = document.firstLine + countLeadingLines(text);
      onWarning({
        kind: "no-object",
        file,
        line,
        text: "it has no `apiVersion` and `kind`, so it is no Kubernetes object",
      });
    }
    const origin = { file, renderedFrom: findHelmSource(text) };
    for (const object of objects) onObject(object, origin);
  }

  #countDocument(line: number): void {
    const most = this.#options.maxDocuments ?? maxDocumentsPerStream;
    this.#documentCount += 1;
    if (this.#documentCount > most) throw this.#limit(line, `it has more than ${most} documents`);
  }

  #assertText(bytes: Buffer, firstLine: number): void {
    const zero = bytes.indexOf(0);
    if (zero >= 0) {
      const isWide = bytes[zero + 1] !== 0 && bytes[zero + 2] === 0;
      throw this.#invalid(
        firstLine + countLines(bytes, zero),
        isWide ? "it looks like UTF-16; manifests are UTF-8" : "it has a NUL character",
      );
    }
    if (isUtf8(bytes)) return;
    throw this.#invalid(firstLine + findInvalidLine(bytes), "it is not valid UTF-8");
  }

  #invalid(line: number, problem: string): Error {
    const { file } = this.#options;
    return fleetError("manifest_invalid", `Cannot read "${file}" line ${line}: ${problem}`, {
      details: { file, line },
    });
  }

  #limit(line: number, problem: string): Error {
    const { file } = this.#options;
    return fleetError("manifest_limit_exceeded", `Cannot read "${file}" line ${line}: ${problem}`, {
      details: { file, line },
    });
  }
}

/** Blank and comment lines before the content. */
function countLeadingLines(text: string): number {
  const head = /^(?:[ \t]*(?:#[^\n]*)?\r?\n)*/.exec(text)?.[0] ?? "";
  return head.split("\n").length - 1;
}

const sourcePrefix = "# Source: ";

/** The last `# Source:` comment before the content. */
function findHelmSource(text: string): string | undefined {
  let source: string | undefined;
  let position = 0;
  while (position < text.length) {
    const found = text.indexOf("\n", position);
    const end = found < 0 ? text.length : found;
    const first = text.charCodeAt(position);
    if (first === 35) {
      if (text.startsWith(sourcePrefix, position)) source = text.slice(position + sourcePrefix.length, end).trim();
    } else if (text.slice(position, end).trim() !== "") {
      break;
    }
    position = end + 1;
  }
  return source === "" ? undefined : source;
}

function countLines(bytes: Buffer, end: number): number {
  let count = 0;
  for (let position = bytes.indexOf(10); position >= 0 && position < end; position = bytes.indexOf(10, position + 1))
    count += 1;
  return count;
}

/** Which line holds the first bytes that are no UTF-8. */
function findInvalidLine(bytes: Buffer): number {
  let start = 0;
  for (let line = 0; ; line += 1) {
    const found = bytes.indexOf(10, start);
    const end = found < 0 ? bytes.length : found;
    if (!isUtf8(bytes.subarray(start, end))) return line;
    assert(found >= 0, "some line holds the invalid bytes");
    start = end + 1;
  }
}
