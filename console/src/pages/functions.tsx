export function FunctionsPage() { return <p class="pad">Soon.</p>; }
