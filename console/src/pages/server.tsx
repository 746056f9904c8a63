export function ServerPage() { return <p class="pad">Soon.</p>; }
