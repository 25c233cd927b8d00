import type { AddressInfo, Server } from "node:net";
import { createErrorFactory, type ErrorCatalogue } from "../errors/domain-error.ts";
import { formatListenAddress, type ListenAddress } from "./listen-address.ts";

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
      reject(createListenError("CANNOT_LISTEN", describeListenError(error, address), { cause: error }));
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

function describeListenError(error: NodeJS.ErrnoException, address: ListenAddress): string {
  const shown = formatListenAddress(address);
  switch (error.code) {
    case "EADDRINUSE":
      return `Cannot listen on "${shown}": another process uses that port; stop it or choose another port`;
    case "EACCES":
      return `Cannot listen on "${shown}": this user may not open that port; choose one from 1024 up`;
    case "EADDRNOTAVAIL":
      return `Cannot listen on "${shown}": this machine has no such address; use one of its own, or ":${address.port}" for all`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `Cannot listen on "${shown}": the host name is not known here; use an address of this machine`;
    default:
      return `Cannot listen on "${shown}": ${error.code ?? error.message}`;
  }
}
