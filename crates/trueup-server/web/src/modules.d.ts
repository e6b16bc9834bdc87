declare module "*.css";

declare module "trueup:synonyms" {
  /** Names that people have for fields, each with the fields that it may mean. */
  const synonyms: [name: string, fields: string[]][];
  export default synonyms;
}
