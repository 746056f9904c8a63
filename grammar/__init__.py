"""The KSQL grammar: text to statement trees and back."""
