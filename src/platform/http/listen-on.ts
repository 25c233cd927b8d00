import type { AddressInfo, Server } from "node:net";
import { formatListenAddress, type ListenAddress } from "../config/field.ts";
import { createErrorFactory, type DomainError, type ErrorCatalogue } from "../errors/domain-error.ts";

export type ListenErrorCode = "CANNOT_LISTEN";

export const listenErrorCatalogue: ErrorCatalogue<ListenErrorCode> = {
  CANNOT_LISTEN: { kind: "failed_precondition" },
};

const createListenError = createErrorFactory(listenErrorCatalogue);

/**
 * Binds any `node:net` server; with no host, to every interface of both families where the machine has IPv6.
 *
 * @throws DomainError CANNOT_LISTEN that names the address and what to do about it
 */
export function listenOn(server: Server, address: ListenAddress): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      reject(toListenError(error, error.code, address));
    };
    server.once("error", onError);
    const onListening = (): void => {
      server.off("error", onError);
      resolve(server.address() as AddressInfo);
    };
    if (address.host === undefined) server.listen({ port: address.port }, onListening);
    else server.listen({ host: address.host, port: address.port }, onListening);
  });
}

/** @param code of the system call that failed, for example EADDRINUSE */
export function toListenError(cause: Error, code: string | undefined, address: ListenAddress): DomainError {
  const shown = formatListenAddress(address);
  const text = `Cannot listen on "${shown}": ${describeReason(cause, code, address)}`;
  return createListenError("CANNOT_LISTEN", text, { cause, details: { address: shown } });
}

function describeReason(cause: Error, code: string | undefined, address: ListenAddress): string {
  switch (code) {
    case "EADDRINUSE":
      return "another process uses that port; stop it or choose another port";
    case "EACCES":
      return "this user may not open that port; choose one from 1024 up";
    case "EADDRNOTAVAIL":
      return `this machine has no such address; use one of its own, or ":${address.port}" for all`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "the host name is not known here; use an address of this machine";
    default:
      return code ?? cause.message;
  }
}
