/**
 * The parts of undici that the program uses. Its entry point loads all of it, which takes 14 MiB of memory and 60 ms: fetch, WebSocket,
 * caches and mocks. These paths are not its interface: package.json pins its version.
 */
import type { Agent, Client, Dispatcher, errors as Errors } from 'undici';
import requestOf from 'undici/lib/api/api-request.js';
import errorClasses from 'undici/lib/core/errors.js';
import AgentClass from 'undici/lib/dispatcher/agent.js';
import ClientClass from 'undici/lib/dispatcher/client.js';
import DispatcherClass from 'undici/lib/dispatcher/dispatcher.js';

// As its entry point does.
DispatcherClass.prototype.request = requestOf;

/** The errors that undici fails with. */
export const errors: typeof Errors = errorClasses;

/** Creates a client of any servers. */
export function createAgent(options: Agent.Options): Agent {
  return new AgentClass(options);
}

/** Creates a client of one server. */
export function createClient(origin: string, options: Client.Options): Client {
  return new ClientClass(origin, options);
}

/** Sends a request, as the function `request` of undici does. */
export function request(
  dispatcher: Dispatcher,
  url: URL | string,
  options: Omit<Dispatcher.RequestOptions, 'origin' | 'path'>,
): Promise<Dispatcher.ResponseData> {
  const { origin, pathname, search } = new URL(url);
  return dispatcher.request({ ...options, origin, path: `${pathname}${search}` });
}
