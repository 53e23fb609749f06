import { z } from 'zod';

import { checked, secret, secretPath, TEXT_CHARS_MAX, withSecrecy } from '../schema/values.ts';
import { isWritten, type Place, refuseSeveral } from '../source/config-file.ts';

/** Arguments of a command, its program included. */
const ARGS_MAX = 64;
const COMMAND = `a list of a program and its arguments, at most ${ARGS_MAX}, such as [pass, show, plant-7]`;
const ARGUMENT = `text of at most ${TEXT_CHARS_MAX} characters (a number needs quotes)`;
const CREDENTIAL = 'the name of a credential: letters, digits, ".", "_" and "-"';
const FORMS = ['', '_file', '_credential', '_command'] as const;

type SecretSchema = ReturnType<typeof secret>;

/** The keys of a secret in all of its forms. */
type SecretShape<Name extends string> = { [Key in Name]: z.ZodOptional<SecretSchema> } & {
  [Key in `${Name}_file`]: z.ZodOptional<ReturnType<typeof secretPath>>;
} & { [Key in `${Name}_credential`]: z.ZodOptional<z.ZodString> } & {
  [Key in `${Name}_command`]: z.ZodOptional<z.ZodArray<z.ZodString>>;
};

/** A secret, as the descriptions of its keys name it. */
export interface SecretAbout {
  /** Description of the key with the secret itself. */
  readonly description: string;
  /** Such as `password`. */
  readonly what: string;
  /** Schema of the secret itself. Default: any text. */
  readonly written?: SecretSchema;
}

/**
 * Builds the keys of a secret: `NAME` with the secret itself, `NAME_file`, `NAME_credential` of systemd, and `NAME_command`. At
 * most one of them is written.
 */
export function secretShape<const Name extends string>(name: Name, about: SecretAbout): SecretShape<Name> {
  const { description, what, written = secret({ description }) } = about;
  return {
    [name]: written.optional(),
    [`${name}_file`]: secretPath(
      `File with the ${what}; one trailing line end is ignored. Replaces \`${name}\`, and is read again when it changes.`,
    ).optional(),
    [`${name}_credential`]: withSecrecy(
      'possible',
      checked(
        {
          description: `Credential of systemd (\`LoadCredential=\`) with the ${what}. Replaces \`${name}\`.`,
          kind: 'name',
        },
        CREDENTIAL,
        255,
        (value) => /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(value),
      ),
    ).optional(),
    [`${name}_command`]: withSecrecy(
      'possible',
      z
        .array(z.string({ error: ARGUMENT }).max(TEXT_CHARS_MAX, { error: ARGUMENT }), { error: COMMAND })
        .min(1, { error: COMMAND })
        .max(ARGS_MAX, { error: COMMAND })
        .refine(([program]) => program !== '', { error: COMMAND })
        .meta({
          kind: 'list of texts',
          description: `Program, and its arguments, that writes the ${what}: run without a shell, for 10 s at most. Replaces \`${name}\`. Only in the main file.`,
        }),
    ).optional(),
  } as SecretShape<Name>;
}

/** Lists the keys of a secret in all of its forms. */
export function listSecretForms(name: string): readonly string[] {
  return FORMS.map((form) => `${name}${form}`);
}

/** Finds the key with which a secret is written, valid or not. */
export function findSecretForm(map: Place, name: string): string | undefined {
  return listSecretForms(name).find((key) => isWritten(map, key));
}

/** Rejects a secret that is written in two forms. */
export function refuseSecretForms(map: Place, name: string): void {
  refuseSeveral(map, listSecretForms(name));
}
