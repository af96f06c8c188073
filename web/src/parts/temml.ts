// TeX to MathML: the library, loaded when a chat first shows a formula.
import temml from 'temml';

export const treeOf = (tex: string, options: object): object => temml.__renderToMathMLTree(tex, options);
