// A file that C++ includes, as text.
declare module '*.txt' {
  const text: string;
  export default text;
}
