import { execFileSync } from "node:child_process";
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";

/** A folder with a certificate authority `ca.crt`, and certificates made by the openssl command. */
export interface CertificateFolder {
  path(name: string): string;
  read(name: string): Buffer;
  /** Writes `<name>.crt` and `<name>.key`, signed by the authority, replacing both. */
  issue(name: string, commonName: string): void;
  issueSelfSigned(name: string, commonName: string): void;
}

export function createCertificateFolder(root: string): CertificateFolder {
  const path = (name: string): string => join(root, name);
  const openssl = (...programArguments: string[]): void => {
    execFileSync("openssl", programArguments, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
  };
  const selfSign = (name: string, commonName: string, ...more: string[]): void => {
    const subject = ["-subj", `/CN=${commonName}`, "-days", "30", "-nodes", ...more];
    openssl(
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      ...subject,
      "-keyout",
      `${name}.key.new`,
      "-out",
      `${name}.crt.new`,
    );
    renameSync(path(`${name}.key.new`), path(`${name}.key`));
    renameSync(path(`${name}.crt.new`), path(`${name}.crt`));
  };
  const names = [
    "-addext",
    "subjectAltName=DNS:localhost,IP:127.0.0.1",
    "-addext",
    "basicConstraints=critical,CA:FALSE",
  ];
  selfSign("ca", "test authority");
  return {
    path,
    read: (name) => readFileSync(path(name)),
    issue: (name, commonName) => selfSign(name, commonName, "-CA", "ca.crt", "-CAkey", "ca.key", ...names),
    issueSelfSigned: (name, commonName) => selfSign(name, commonName, ...names),
  };
}
