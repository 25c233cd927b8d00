import { readFileSync } from "node:fs";
import { request } from "node:https";
import { ChannelCredentials } from "@grpc/grpc-js";
import { createChannel, createClient } from "nice-grpc";
import t from "tap";
import { queueDefinition } from "../../src/queue/grpc/definition.ts";
import { createCertificateFolder } from "../support/certificates.ts";
import { createTestFolder } from "../support/queue/rest-fixture.ts";
import { Responses, startServerFixture } from "../support/queue/server-fixture.ts";

const folder = createTestFolder();
t.teardown(() => folder.remove());
const certificates = createCertificateFolder(folder.path);
certificates.issue("server", "localhost");
certificates.issue("client", "worker-1");
const fixture = await startServerFixture({
  QUEUE_TLS_ENABLED: "true",
  QUEUE_TLS_CERT_FILE: certificates.path("server.crt"),
  QUEUE_TLS_KEY_FILE: certificates.path("server.key"),
  QUEUE_TLS_CA_FILE: certificates.path("ca.crt"),
  QUEUE_TLS_CLIENT_AUTH: "require-verify",
  QUEUE_TLS_MIN_VERSION: "1.3",
});
t.teardown(() => fixture[Symbol.asyncDispose]());
const { service, httpUrl, grpcAddress } = fixture.server;
await service.createTopic({ name: "orders", partitions: 1 });
await service.publish({ topic: "orders", messages: [{ value: "a" }] });

const ca = readFileSync(certificates.path("ca.crt"));
const own = { key: readFileSync(certificates.path("client.key")), cert: readFileSync(certificates.path("client.crt")) };

/** The status, or the code of what went wrong. */
function get(options: object): Promise<number | string> {
  return new Promise((resolve) => {
    const call = request(`${httpUrl}/topics`, { ca, ...options }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    call.end();
  });
}

t.test("REST is HTTPS, for clients with a certificate of the authority, from TLS 1.3 on", async (t) => {
  t.match(httpUrl, /^https:/);
  t.equal(await get(own), 200);
  t.type(await get({}), "string", "no certificate, no answer");
  t.type(await get({ ...own, maxVersion: "TLSv1.2" }), "string", "too old");
});

t.test("gRPC has the same certificates and the same rule", async (t) => {
  const read = async (credentials: ChannelCredentials) => {
    const channel = createChannel(grpcAddress.replace("127.0.0.1", "localhost"), credentials);
    try {
      const messages = createClient(queueDefinition, channel).consumeStream({ topic: "orders", stopAtEnd: true });
      return (await new Responses(messages).rest()).length;
    } catch (error) {
      return error;
    } finally {
      channel.close();
    }
  };
  t.equal(await read(ChannelCredentials.createSsl(ca, own.key, own.cert)), 1);
  t.ok((await read(ChannelCredentials.createSsl(ca))) instanceof Error);
});
