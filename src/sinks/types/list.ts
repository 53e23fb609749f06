import { elasticsearch } from './elasticsearch/index.ts';
import { file } from './file/index.ts';
import { http } from './http.ts';
import { loki } from './loki/index.ts';
import { nats } from './nats/index.ts';
import { otlp } from './otlp.ts';
import { stdout } from './stdout.ts';
import { syslog } from './syslog/index.ts';

/** All types of sinks by name. A new type is a file and a name here. */
export const SINKS = { stdout, file, http, loki, elasticsearch, otlp, syslog, nats };
