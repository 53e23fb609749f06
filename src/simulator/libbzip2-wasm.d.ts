/** libbz2 compiled to WebAssembly; the package has no types of its own. */
declare module 'libbzip2-wasm' {
  interface Bzip2Library {
    /** Block size in units of 100 kB (1 to 9); work factor 0 is libbz2's default. Error 0 is success. */
    compressBZ2(
      input: Uint8Array,
      blockSize100k: number,
      workFactor: number,
    ): { readonly output: Uint8Array; readonly error: number };
    /** Resolves with an object that has `then` again: awaiting it never ends unless this is deleted first. */
    then?: (loaded: (library: Bzip2Library) => void) => void;
  }
  function load(): Bzip2Library;
  export = load;
}
