export function Welcome() { return <p class="pad">Soon.</p>; }
