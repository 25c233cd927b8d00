/**
 * The SCRAM-SHA-256 verifier of a password, computed here so that neither the password nor a statement that holds it
 * reaches the database server, its log or an argument list (RFC 5802, and the format of `pg_authid.rolpassword`).
 */
import { createHash, createHmac, pbkdf2Sync } from "node:crypto";

const iterations = 4096;

export function computeScramVerifier(password: string, salt: Uint8Array): string {
  const salted = pbkdf2Sync(password.normalize("NFKC"), salt, iterations, 32, "sha256");
  const clientKey = createHmac("sha256", salted).update("Client Key").digest();
  const storedKey = createHash("sha256").update(clientKey).digest("base64");
  const serverKey = createHmac("sha256", salted).update("Server Key").digest("base64");
  return `SCRAM-SHA-256$${iterations}:${Buffer.from(salt).toString("base64")}$${storedKey}:${serverKey}`;
}
