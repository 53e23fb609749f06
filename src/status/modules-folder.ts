/** Folder of the modules that the package ships: one YAML file each, named after the module. */
export const SHIPPED_MODULES_FOLDER = new URL('./modules/', import.meta.url);
