import fc from 'fast-check';

/** Each run tries the same random cases, so that a commit is judged by itself. Another number for `FUZZ_SEED` tries others. */
fc.configureGlobal({ seed: Number(process.env['FUZZ_SEED'] ?? 1) });
