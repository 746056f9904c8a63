export function QueryPage() { return <p class="pad">Soon.</p>; }
