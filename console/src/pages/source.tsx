export function SourcePage() { return <p class="pad">Soon.</p>; }
