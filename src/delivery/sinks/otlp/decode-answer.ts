import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { parseJson } from '../../../base/index.ts';

/** The partial result of a collector: `ExportLogsPartialSuccess`. */
export interface PartialSuccess {
  /** Number of permanently rejected records. */
  readonly rejected: number;
  /** Reason, or a warning when none was rejected. Untrusted; may be empty. */
  readonly message: string;
}

const RESPONSE = { partialSuccess: 1 } as const;
const PARTIAL_SUCCESS = { rejectedLogRecords: 1, errorMessage: 2 } as const;
/** `google.rpc.Status`, the body of failures. */
const STATUS = { message: 2 } as const;

/** Decodes an `ExportLogsServiceResponse`; `undefined` when the bytes are invalid. The caller bounds their number. */
export function decodeExportResponse(bytes: Uint8Array): PartialSuccess | undefined {
  return tryDecode(() => {
    const success = { rejected: 0, message: '' };
    readFields(new BinaryReader(bytes), (field, type, reader) => {
      if (field !== RESPONSE.partialSuccess || type !== WireType.LengthDelimited) return false;
      readFields(new BinaryReader(reader.bytes()), (inner, innerType, partial) => {
        if (inner === PARTIAL_SUCCESS.rejectedLogRecords && innerType === WireType.Varint) {
          success.rejected = Number(partial.int64());
        } else if (inner === PARTIAL_SUCCESS.errorMessage && innerType === WireType.LengthDelimited) {
          success.message = partial.string();
        } else return false;
        return true;
      });
      return true;
    });
    return success;
  });
}

/** Decodes the message of a `google.rpc.Status`; `undefined` when the bytes are invalid or contain none. */
export function decodeStatusMessage(bytes: Uint8Array): string | undefined {
  return tryDecode(() => {
    let message: string | undefined;
    readFields(new BinaryReader(bytes), (field, type, reader) => {
      if (field !== STATUS.message || type !== WireType.LengthDelimited) return false;
      message = reader.string();
      return true;
    });
    return message;
  });
}

/** Decodes an `ExportLogsServiceResponse` in JSON, which some servers send for a protobuf request. */
export function decodeExportResponseJson(text: string): PartialSuccess | undefined {
  const answer = parseJson(text);
  if (typeof answer !== 'object' || answer === null) return undefined;
  const partial = readMember(answer, 'partialSuccess', 'partial_success');
  if (partial === undefined) return { rejected: 0, message: '' };
  // 64-bit numbers are strings in protobuf's JSON.
  const rejected = Number(readMember(partial, 'rejectedLogRecords', 'rejected_log_records') ?? 0);
  const message = readMember(partial, 'errorMessage', 'error_message');
  return { rejected: Number.isInteger(rejected) ? rejected : 0, message: typeof message === 'string' ? message : '' };
}

/** Decodes the message of a `google.rpc.Status` in JSON. */
export function decodeStatusMessageJson(text: string): string | undefined {
  const message = readMember(parseJson(text), 'message');
  return typeof message === 'string' ? message : undefined;
}

/** Calls `take` for each field and skips those for which it returns false. */
function readFields(
  reader: BinaryReader,
  take: (field: number, type: WireType, reader: BinaryReader) => boolean,
): void {
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (!take(field, type, reader)) reader.skip(type, field);
  }
}

function tryDecode<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch {
    // The reader throws for invalid protobuf; its error text is of no use.
    return undefined;
  }
}

function readMember(value: unknown, ...names: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const name of names) if (Object.hasOwn(value, name)) return Reflect.get(value, name);
  return undefined;
}
