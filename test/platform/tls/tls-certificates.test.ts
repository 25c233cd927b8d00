import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { isDomainError } from "../../../src/platform/errors/domain-error.ts";
import { type Logger, silentLogger } from "../../../src/platform/log/logger.ts";
import type { Timers } from "../../../src/platform/time/clock.ts";
import { TlsCertificates } from "../../../src/platform/tls/tls-certificates.ts";
import { type CertificateFolder, createCertificateFolder } from "../../support/certificates.ts";

/** Never fires: the tests look at the files themselves. */
const stillTimers: Timers = { after: () => ({ cancel: () => {} }), every: () => ({ cancel: () => {} }) };

function load(folder: string, logger: Logger = silentLogger): TlsCertificates {
  const [certFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  return TlsCertificates.load({ certFile, keyFile, logger, timers: stillTimers });
}

function createRecorder(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const note = (level: string) => (_fields: object, message: string) => void lines.push(`${level}: ${message}`);
  return { lines, logger: { ...silentLogger, info: note("info"), error: note("error") } };
}

function issue(folder: CertificateFolder, commonName: string): void {
  folder.issueSelfSigned("tls", commonName);
}

t.test("load() names the file that cannot be used", async (t) => {
  const root = t.testdir();
  const folder = createCertificateFolder(root);
  issue(folder, "one");
  folder.issueSelfSigned("other", "two");
  const messageWith = (changed: Partial<Record<"certFile" | "keyFile" | "caFile", string>>): string => {
    const paths = { certFile: folder.path("tls.crt"), keyFile: folder.path("tls.key"), ...changed };
    try {
      TlsCertificates.load({ ...paths, logger: silentLogger, timers: stillTimers })[Symbol.dispose]();
    } catch (error) {
      return isDomainError(error) ? error.message.replaceAll(root, "") : String(error);
    }
    return "no error";
  };
  writeFileSync(folder.path("text"), "no PEM");
  t.equal(messageWith({}), "no error");
  t.equal(messageWith({ certFile: folder.path("absent") }), 'Cannot read the certificate "/absent": ENOENT');
  t.equal(messageWith({ keyFile: folder.path("absent") }), 'Cannot read the private key "/absent": ENOENT');
  t.equal(messageWith({ caFile: folder.path("absent") }), 'Cannot read the CA certificate "/absent": ENOENT');
  t.equal(
    messageWith({ certFile: folder.path("text") }),
    'Cannot use the certificate "/text": it is not valid PEM of one',
  );
  t.equal(
    messageWith({ keyFile: folder.path("text") }),
    'Cannot use the private key "/text": it is not valid PEM of one',
  );
  t.equal(
    messageWith({ caFile: folder.path("text") }),
    'Cannot use the CA certificate "/text": it is not valid PEM of one',
  );
  t.equal(
    messageWith({ keyFile: folder.path("other.key") }),
    'Cannot use the certificate "/tls.crt": the key "/other.key" belongs to another certificate',
  );
});

t.test("reload() sees writes in place, renames and the link swap of mounted secrets", async (t) => {
  const root = t.testdir();
  const made = join(root, "made");
  mkdirSync(made);
  const folder = createCertificateFolder(made);
  const mount = join(root, "mount");
  mkdirSync(mount);
  const publish = (version: string): void => {
    cpSync(made, join(mount, version), { recursive: true });
    symlinkSync(version, join(mount, "..data_tmp"));
    renameSync(join(mount, "..data_tmp"), join(mount, "..data"));
  };
  issue(folder, "one");
  publish("..2026_01");
  symlinkSync("..data/tls.crt", join(mount, "tls.crt"));
  symlinkSync("..data/tls.key", join(mount, "tls.key"));
  using certificates = load(mount);
  const first = certificates.serverOptions().cert;
  t.equal(certificates.reload(), false, "nothing has changed");
  issue(folder, "two");
  publish("..2026_02");
  rmSync(join(mount, "..2026_01"), { recursive: true });
  t.equal(certificates.reload(), true);
  t.not(certificates.serverOptions().cert, first);
  t.equal(certificates.serverOptions().cert, readFileSync(folder.path("tls.crt"), "utf8"));
  using direct = load(made);
  issue(folder, "three");
  t.equal(direct.reload(), true);
  const key = readFileSync(folder.path("tls.key"));
  writeFileSync(folder.path("tls.key"), key);
  t.equal(direct.reload(), true, "written in place");
});

t.test(
  "a set that does not work is reported once, the one in use is kept, and the next good one is taken",
  async (t) => {
    const folder = createCertificateFolder(t.testdir());
    issue(folder, "one");
    const { logger, lines } = createRecorder();
    using certificates = load(join(folder.path("tls.crt"), ".."), logger);
    const inUse = certificates.serverOptions();
    const seen: string[] = [];
    const stop = certificates.onChange(({ cert }) => void seen.push(cert));
    const oldKey = folder.read("tls.key");
    issue(folder, "two");
    const newKey = folder.read("tls.key");
    writeFileSync(folder.path("tls.key"), oldKey);
    t.equal(certificates.reload(), false, "the certificate is new, its key not yet");
    t.equal(certificates.reload(), false);
    t.strictSame(certificates.serverOptions(), inUse);
    rmSync(folder.path("tls.key"));
    t.equal(certificates.reload(), false, "a file is gone");
    t.strictSame(
      lines,
      Array.from({ length: 2 }, () => "error: new TLS certificate is unusable: the one in use is kept"),
    );
    writeFileSync(folder.path("tls.key"), newKey);
    t.equal(certificates.reload(), true);
    t.equal(lines[2], "info: TLS certificate reloaded");
    t.strictSame(seen, [folder.read("tls.crt").toString()]);
    stop();
    issue(folder, "three");
    t.equal(certificates.reload(), true);
    t.equal(seen.length, 1, "a listener that stopped is not called");
  },
);
