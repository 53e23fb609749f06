import type { z } from 'zod';
import { findContent, type secret, secretPath } from '../schema/values.ts';
import { isWritten, type Place, refuseBoth } from '../source/config-file.ts';

type SecretSchema = ReturnType<typeof secret>;

/** The keys of a secret. */
type SecretShape<Name extends string> = { [Key in Name]: z.ZodOptional<SecretSchema> } & {
  [Key in `${Name}_file`]: z.ZodOptional<ReturnType<typeof secretPath>>;
};

/** Builds the keys of a secret: `NAME` with its value, and `NAME_file`, short for its form `{ file: path }`. One of them is written. */
export function secretShape<const Name extends string>(name: Name, value: SecretSchema): SecretShape<Name> {
  return {
    [name]: value.optional(),
    [`${name}_file`]: secretPath(
      `Short for \`${name}: { file: path }\`.`,
      findContent(value) ?? { expected: `the ${name}` },
    ).optional(),
  } as SecretShape<Name>;
}

/** Ends of keys: the last two were removed, and have their own fault. */
const FORMS = ['', '_file', '_credential', '_command'];

/** Finds the key with which a secret is written, valid or not. */
export function findSecretForm(map: Place, name: string): string | undefined {
  return FORMS.map((form) => `${name}${form}`).find((key) => isWritten(map, key));
}

/** Rejects a secret that is written with both of its keys. */
export function refuseSecretForms(map: Place, name: string): void {
  refuseBoth(map, name, `${name}_file`);
}
