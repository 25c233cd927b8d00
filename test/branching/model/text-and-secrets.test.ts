import { createHash, createHmac, pbkdf2Sync } from "node:crypto";
import t from "tap";
import {
  compareTables,
  diffSchemas,
  normalizeSchemaDump,
  sampledKeyCount,
} from "../../../src/branching/model/branch-diff.ts";
import {
  callerBytesMax,
  clipToolOutput,
  journalBytesMax,
  journalText,
} from "../../../src/branching/model/failure-text.ts";
import { choosePort, portRange } from "../../../src/branching/model/resource-names.ts";
import { computeScramVerifier } from "../../../src/branching/model/scram.ts";
import { isSealedUnder, openSecret, parseSecretKey, sealSecret } from "../../../src/branching/model/secret-box.ts";
import { parseNameList, quoteIdentifier, quoteLiteral, quoteShell } from "../../../src/branching/model/sql-text.ts";

t.test("clipToolOutput() keeps the end and drops what may hold data", async (t) => {
  const output = [
    'psql:<stdin>:3: ERROR:  duplicate key value violates unique constraint "people_pkey"',
    "DETAIL:  Key (mail)=(secret@person.org) already exists.",
    "CONTEXT:  COPY people, line 1",
    "\tmore of the same",
    "LINE 1: INSERT INTO people VALUES ('secret@person.org')",
    "the end\u001b[31m",
  ].join("\n");
  const text = clipToolOutput(output, callerBytesMax);
  t.equal(text, 'psql:<stdin>:3: ERROR:  duplicate key value violates unique constraint "people_pkey"\nthe end[31m');
  t.equal(clipToolOutput("password is hunter2", 100, ["hunter2", ""]), "password is [hidden]");
  for (const extra of [-1, 0, 1]) {
    const clipped = clipToolOutput("é".repeat((callerBytesMax + extra * 2) / 2), callerBytesMax);
    t.ok(Buffer.byteLength(clipped) <= callerBytesMax, `${extra}: ${Buffer.byteLength(clipped)} bytes`);
    t.notMatch(clipped, /\ufffd/, "no character is cut in two");
    t.equal(clipped.startsWith("…"), extra > 0);
  }
});

t.test("journalText() is one line of at most 1 KiB", async (t) => {
  t.equal(journalText("a\n  b\nc"), "a; b; c");
  t.ok(Buffer.byteLength(journalText("ü".repeat(2000))) <= journalBytesMax);
  t.equal(journalText("x".repeat(journalBytesMax)).length, journalBytesMax);
  t.match(journalText("x".repeat(journalBytesMax + 1)), /x…$/);
});

t.test("a SCRAM verifier proves the password and nothing else", async (t) => {
  const salt = Buffer.from("0123456789abcdef");
  const verifier = computeScramVerifier("pencil", salt);
  const [, iterations, saltText, storedKey, serverKey] =
    verifier.match(/^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)$/) ?? [];
  const salted = pbkdf2Sync("pencil", Buffer.from(saltText ?? "", "base64"), Number(iterations), 32, "sha256");
  const clientKey = createHmac("sha256", salted).update("Client Key").digest();
  t.equal(createHash("sha256").update(clientKey).digest("base64"), storedKey);
  t.equal(createHmac("sha256", salted).update("Server Key").digest("base64"), serverKey);
  t.not(computeScramVerifier("pencil2", salt), verifier);
});

t.test("a secret opens under its key, an old key of the same id only, and not when it was changed", async (t) => {
  const key = parseSecretKey("ab".repeat(32), "test");
  const other = parseSecretKey(Buffer.alloc(32, 7).toString("base64"), "test");
  const sealed = sealSecret({ primary: key, previous: [] }, "pässword", Buffer.alloc(12, 1));
  t.match(sealed, /^enc:v2:[0-9a-f]{8}:[A-Za-z0-9+/]+=*$/);
  t.equal(openSecret({ primary: key, previous: [] }, sealed), "pässword");
  t.equal(openSecret({ primary: other, previous: [key] }, sealed), "pässword");
  t.equal(openSecret({ primary: other, previous: [] }, sealed), undefined);
  t.equal(isSealedUnder(key, sealed), true);
  t.equal(isSealedUnder(other, sealed), false);
  for (let index = 0; index < sealed.length; index += 3) {
    const changed = `${sealed.slice(0, index)}${sealed[index] === "A" ? "B" : "A"}${sealed.slice(index + 1)}`;
    t.not(openSecret({ primary: key, previous: [] }, changed), "something else", `changed at ${index}`);
  }
  t.equal(openSecret({ primary: key, previous: [] }, "enc:v2:zz"), undefined);
  for (const bad of ["", "ab".repeat(31), "ab".repeat(33), "not a key!", Buffer.alloc(31).toString("base64")]) {
    t.throws(() => parseSecretKey(bad, "test"), { code: "secret_key_invalid" }, bad);
  }
});

t.test("quoting leaves no way out", async (t) => {
  t.equal(quoteIdentifier('a"; drop'), '"a""; drop"');
  t.equal(quoteLiteral("it's"), "'it''s'");
  t.equal(quoteLiteral("a\\'b"), " E'a\\\\''b'");
  t.strictSame(parseNameList('a, "b, c" ,"d""e",$libdir/f'), ["a", "b, c", 'd"e', "$libdir/f"]);
  t.strictSame(parseNameList(""), []);
  t.equal(quoteShell("a'$(x)`b"), "'a'\\''$(x)`b'");
});

t.test("choosePort() takes a free port of the range, and none when all are taken", async (t) => {
  t.equal(choosePort(new Set(), 0), portRange.first);
  t.equal(choosePort(new Set([portRange.first]), 0), portRange.first + 1);
  t.equal(choosePort(new Set([portRange.last]), 0.99999999), portRange.first, "it wraps around");
  const all = new Set(
    Array.from({ length: portRange.last - portRange.first + 1 }, (_, index) => portRange.first + index),
  );
  t.equal(choosePort(all, 0.5), undefined);
  all.delete(25_000);
  t.equal(choosePort(all, 0.9), 25_000);
});

t.test("schema dumps are compared without what differs by itself", async (t) => {
  const dump = (token: string, body: string): string =>
    `--\n-- Dumped from database version 17.${token.length}\n\\restrict ${token}\n\n\n\n${body}\n\\unrestrict ${token}\n`;
  t.equal(diffSchemas(dump("aaa", "CREATE TABLE t ();"), dump("bbbb", "CREATE TABLE t ();")), "");
  const text = diffSchemas(dump("a", "CREATE TABLE t (a int);"), dump("b", "CREATE TABLE t (b int);"));
  t.match(text, /^--- base\n\+\+\+ branch\n@@/);
  t.match(text, /-CREATE TABLE t \(a int\);\n\+CREATE TABLE t \(b int\);/);
  t.notMatch(normalizeSchemaDump(dump("x", "y")), /restrict/);
});

t.test("row counts are compared table by table; unknown is said", async (t) => {
  const base = [
    { schema: "public", table: "gone", rows: 5 },
    { schema: "public", table: "same", rows: 7 },
    { schema: "public", table: "huge", rows: undefined },
  ];
  const branch = [
    { schema: "public", table: "same", rows: 9 },
    { schema: "public", table: "huge", rows: 3 },
    { schema: "public", table: "new", rows: 1 },
  ];
  t.strictSame(
    compareTables(base, branch).map((row) => [row.table, row.baseRows, row.branchRows, row.delta, row.isUnknown]),
    [
      ["gone", 5, 0, -5, false],
      ["huge", -1, 3, 0, true],
      ["new", 0, 1, 1, false],
      ["same", 7, 9, 2, false],
    ],
  );
  t.strictSame([0, 99, 100, 101, 500].map(sampledKeyCount), [1000, 1000, 1000, 1010, 5000]);
});
