import { elasticsearch } from './elasticsearch/index.ts';
import { file } from './file/index.ts';
import { http } from './http/index.ts';
import { loki } from './loki/index.ts';
import { nats } from './nats/index.ts';
import { otlp } from './otlp/index.ts';
import { stdout } from './stdout/index.ts';
import { syslog } from './syslog/index.ts';

/** All types of sinks by name. A new type is a folder and a name here. */
export const SINKS = { stdout, file, http, loki, elasticsearch, otlp, syslog, nats };
