import { z } from 'zod';

/** Longest text: a line of a log has up to 64 KiB. Characters. */
const TEXT_CHARS_MAX = 80_000;

/** A text. */
export const text = z
  .string()
  .max(TEXT_CHARS_MAX)
  .overwrite((value) => value.toWellFormed());

/** A time, RFC 3339 in UTC. */
export const moment = z.iso.datetime();
