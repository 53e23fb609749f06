/** Folder of the shipped modules: one YAML file each, named after the module. */
export const SHIPPED_MODULES_FOLDER = new URL('./modules/', import.meta.url);
