import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import t from "tap";
import { resolveDockerEndpoint } from "../../../src/branching/drivers/docker/docker-endpoint.ts";
import { toRuntimeError } from "../../../src/branching/drivers/docker/docker-errors.ts";
import { LineSplitter, StreamDemuxer, TailBuffer } from "../../../src/branching/drivers/docker/exec-stream.ts";
import { readFolderName } from "../../../src/branching/drivers/docker/volume-backend.ts";
import { probePostgres } from "../../../src/branching/drivers/postgres-probe.ts";

t.test("the endpoint is found as the docker client finds it", async (t) => {
  const home = t.testdir();
  const config = join(home, ".docker");
  const id = createHash("sha256").update("remote").digest("hex");
  mkdirSync(join(config, "contexts", "meta", id), { recursive: true });
  mkdirSync(join(config, "contexts", "tls", id, "docker"), { recursive: true });
  writeFileSync(
    join(config, "contexts", "meta", id, "meta.json"),
    JSON.stringify({ Endpoints: { docker: { Host: "tcp://far:2376" } } }),
  );
  writeFileSync(join(config, "contexts", "tls", id, "docker", "ca.pem"), "CA");
  t.strictSame(resolveDockerEndpoint({}, home), { kind: "unix", socketPath: "/var/run/docker.sock" });
  t.strictSame(resolveDockerEndpoint({ DOCKER_HOST: "unix:///x.sock" }, home), { kind: "unix", socketPath: "/x.sock" });
  t.strictSame(resolveDockerEndpoint({ DOCKER_HOST: "tcp://h:1" }, home), {
    kind: "tcp",
    host: "h",
    port: 1,
    tls: undefined,
  });
  t.strictSame(resolveDockerEndpoint({ DOCKER_HOST: "tcp://[::1]" }, home), {
    kind: "tcp",
    host: "::1",
    port: 2375,
    tls: undefined,
  });
  t.match(
    resolveDockerEndpoint(
      {
        DOCKER_HOST: "tcp://h",
        DOCKER_TLS_VERIFY: "1",
        DOCKER_CERT_PATH: join(config, "contexts", "tls", id, "docker"),
      },
      home,
    ),
    { port: 2376, tls: { isVerified: true } },
  );
  t.match(resolveDockerEndpoint({ DOCKER_CONTEXT: "remote" }, home), {
    host: "far",
    port: 2376,
    tls: { isVerified: true },
  });
  writeFileSync(join(config, "config.json"), JSON.stringify({ currentContext: "remote" }));
  t.match(resolveDockerEndpoint({}, home), { host: "far" }, "the current context");
  t.match(
    resolveDockerEndpoint({ DOCKER_HOST: "unix:///y.sock" }, home),
    { socketPath: "/y.sock" },
    "DOCKER_HOST wins",
  );
  for (const [environment, expected] of [
    [{ DOCKER_HOST: "ssh://me@h" }, /ssh:\/\/ is not supported/],
    [{ DOCKER_HOST: "npipe:////./pipe" }, /must start with unix/],
    [{ DOCKER_HOST: "nonsense" }, /must start with unix/],
    [{ DOCKER_CONTEXT: "missing" }, /there is no such context/],
  ] as const) {
    t.throws(() => resolveDockerEndpoint(environment, home), { code: "endpoint_unsupported", message: expected });
  }
  writeFileSync(join(config, "config.json"), "{");
  t.throws(() => resolveDockerEndpoint({}, home), { message: /it is no JSON/ });
});

t.test("StreamDemuxer parts the two outputs however they are cut", async (t) => {
  const frame = (stream: number, text: string): Buffer => {
    const header = Buffer.alloc(8);
    header[0] = stream;
    header.writeUInt32BE(Buffer.byteLength(text), 4);
    return Buffer.concat([header, Buffer.from(text)]);
  };
  const whole = Buffer.concat([frame(1, "hello "), frame(2, "oops"), frame(1, ""), frame(1, "world")]);
  for (let size = 1; size <= whole.length; size++) {
    const seen = { output: "", error: "" };
    const demuxer = new StreamDemuxer({
      onOutput: (piece) => {
        seen.output += piece.toString();
      },
      onError: (piece) => {
        seen.error += piece.toString();
      },
    });
    for (let start = 0; start < whole.length; start += size) demuxer.push(whole.subarray(start, start + size));
    t.strictSame(seen, { output: "hello world", error: "oops" }, `pieces of ${size}`);
    t.equal(demuxer.isAtBoundary, true);
  }
});

t.test("StreamDemuxer knows that it was cut off", async (t) => {
  const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 3]);
  for (const [text, isWhole] of [
    ["", false],
    ["a", false],
    ["ab", false],
    ["abc", true],
  ] as const) {
    const demuxer = new StreamDemuxer({ onOutput: () => {}, onError: () => {} });
    t.equal(demuxer.isAtBoundary, true);
    demuxer.push(header.subarray(0, 7));
    t.equal(demuxer.isAtBoundary, false, "within a header");
    demuxer.push(header.subarray(7));
    demuxer.push(Buffer.from(text));
    t.equal(demuxer.isAtBoundary, isWhole, `behind "${text}" of three bytes`);
  }
});

t.test("tails and lines are bounded", async (t) => {
  const tail = new TailBuffer(5);
  for (const piece of ["abc", "defg", "h"]) tail.push(Buffer.from(piece));
  t.equal(tail.toString(), "defgh");
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  for (const piece of ["10%\r20", "%\r\n", "30%\n\npart"]) splitter.push(Buffer.from(piece));
  t.strictSame(lines, ["10%", "20%", "30%"]);
});

t.test("engine failures become errors of ours", async (t) => {
  const cases: readonly (readonly [object, string])[] = [
    [{ code: "ECONNREFUSED" }, "runtime_unreachable"],
    [{ code: "ENOENT" }, "runtime_unreachable"],
    [{ statusCode: 409, json: { message: "volume is in use" } }, "held_by_runtime"],
    [
      { statusCode: 500, json: { message: "driver failed: Bind for 127.0.0.1:1 failed: port is already allocated" } },
      "port_taken",
    ],
    [{ statusCode: 500, json: { message: "boom" } }, "runtime_failed"],
  ];
  for (const [failure, code] of cases) t.match(toRuntimeError("do it", failure), { code }, code);
});

t.test("a folder's name tells its kind and owner, of this registry only", async (t) => {
  t.strictSame(readFolderName("abc", "branchsvc-abc-branch-pr-7-x-0a1b"), { kind: "branch", name: "pr-7-x" });
  t.strictSame(readFolderName("abc", "branchsvc-abc-source-shop-ff"), { kind: "source", name: "shop" });
  for (const name of ["branchsvc-xyz-branch-a-00", ".trash", "branchsvc-abc-other-a-00", "branchsvc-abc-branch-a"]) {
    t.equal(readFolderName("abc", name), undefined, name);
  }
});

t.test("probePostgres() tells silent, starting, refusing and admitting apart", async (t) => {
  const reply = (kind: string, body: string): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(4 + Buffer.byteLength(body));
    return Buffer.concat([Buffer.from(kind), length, Buffer.from(body)]);
  };
  const answers: readonly (readonly [Buffer | undefined, string])[] = [
    [reply("E", "SFATAL\0C57P03\0Mthe database system is starting up\0\0"), "starting"],
    [reply("E", "SFATAL\0C28000\0Mpg_hba.conf rejects connection\0\0"), "refusing"],
    [reply("R", "\0\0\0\n"), "admitting"],
    [undefined, "silent"],
  ];
  for (const [bytes, expected] of answers) {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => {
        if (bytes === undefined) socket.destroy();
        else for (const byte of bytes) socket.write(Buffer.from([byte]));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    t.equal(await probePostgres("127.0.0.1", port), expected);
    await new Promise((resolve) => server.close(resolve));
    t.equal(await probePostgres("127.0.0.1", port), "silent", "nobody listens");
  }
});
