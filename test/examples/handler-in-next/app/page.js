export default function Home() {
  return "the home page";
}
